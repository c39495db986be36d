"""What shows that AWS is as the CPI believes: run in an AWS account, real or simulated.

`aws_check` tries the beliefs of docs/aws-assumptions.md; `lifecycle` lets the executable make, use and
delete all that it can. Both work in a VPC of their own and remove whatever they have made.
"""
