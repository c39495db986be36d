"""Programs that try the CPI in an AWS account, real or simulated.

`aws_check` tries the assumptions of docs/aws-assumptions.md; `lifecycle` calls the executable's methods as a
Director does. Both work in a VPC of their own and delete what they have created.
"""
