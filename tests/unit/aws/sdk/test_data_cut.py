"""The SDK's data, cut to what the CPI reads; tests/release cuts all of the real data."""

from __future__ import annotations

import copy

from bosh_aws_cpi.aws.sdk.data_cut import cut, without_documentation

MODEL = {
    "metadata": {"endpointPrefix": "ec2"},
    "operations": {
        "RunInstances": {"input": {"shape": "Asked"}, "documentation": "long"},
        "CreateVpc": {"input": {"shape": "Vpc"}},
        "GetConsoleOutput": {"input": {"shape": "Name"}},
    },
    "shapes": {
        "Asked": {"members": {"shape": {"shape": "Name"}}},
        "Name": {"type": "string", "documentation": "long"},
        "Vpc": {"type": "string"},
    },
}


def test_service() -> None:
    """A model keeps the operations that are called, and their shapes."""
    before = copy.deepcopy(MODEL)
    assert cut("service-2", MODEL) == {
        "metadata": {"endpointPrefix": "ec2"},
        "operations": {"RunInstances": {"input": {"shape": "Asked"}}},
        "shapes": {"Asked": {"members": {"shape": {"shape": "Name"}}}, "Name": {"type": "string"}},
    }
    assert before == MODEL


def test_service_for_commands() -> None:
    """Operators' commands keep their operations, too."""
    assert cut("service-2", MODEL, for_commands=True)["operations"].keys() == {
        "RunInstances",
        "GetConsoleOutput",
    }


def test_endpoints() -> None:
    """The endpoints of our services stay, in each partition."""
    partitions = [{"partition": "aws", "services": {"ec2": {}, "s3": {}}}, {"services": {"sts": {"a": 1}}}]
    left = [{"partition": "aws", "services": {"ec2": {}}}, {"services": {"sts": {"a": 1}}}]
    assert cut("endpoints", {"version": 3, "partitions": partitions}) == {"version": 3, "partitions": left}


def test_other() -> None:
    """Any other document stays as it is."""
    assert cut("paginators-1", MODEL) == MODEL


def test_member_named_documentation_stays() -> None:
    """Only text is documentation: a member or a shape of that name stays."""
    shapes = {"documentation": {"members": {"documentation": {"shape": "S", "documentation": "text"}}}}
    stays = {"documentation": {"members": {"documentation": {"shape": "S"}}}}
    assert without_documentation(shapes) == stays
