"""`cpi check` with files as people write them: right ones, several, with variables, and of another kind."""

import re
from typing import Any

import pytest
import yaml

from bosh_aws_cpi.errors import CloudError
from tests.stories.right_configs import ANCHORS, CREATE_ENV, OWN, RIGHT, VARIABLES
from tests.unit.tools.checks.conftest import Check

RUNTIME = "releases: [{name: dns, version: 1}]\naddons: [{name: dns}]\n"
CPIS = "cpis: [{name: aws, type: aws, properties: {}}]"
VARS = "admin_password: abc\ndefault_ca: {ca: x}\n"
STATE = '{"director_id": "a", "installation_id": "b", "current_vm_cid": "i-1", "disks": []}'
CPI_JSON = '{"cloud": {"plugin": "aws", "properties": {"aws": {}}}}'
OPERATIONS = "- {type: replace, path: /azs, value: []}"
V1 = "name: a\njobs: [{name: web, instances: 1, resource_pool: small}]\n"
TAGS = "instance_type: m5.large\n    tags: {5: x, a: 2026-01-01}"


@pytest.mark.parametrize("name", RIGHT)
def test_right(check: Check, name: str) -> None:
    """A right file has no findings."""
    first, *more = RIGHT[name]
    assert check(first, more=more) == []


def test_variables(check: Check) -> None:
    """Each variable is named once, with its place; nothing is said of values that are not known."""
    found = check(VARIABLES)
    assert {each.severity for each in found} == {"not checked"}
    named = [re.findall(r"\(\((\w+)\)\) is a variable", each.text)[0] for each in found]
    assert sorted(named) == sorted({part.split("))")[0] for part in VARIABLES.split("((")[1:]})
    lines = VARIABLES.splitlines()
    assert all(each.line and name in lines[each.line - 1] for name, each in zip(named, found, strict=True))


def test_templates(check: Check) -> None:
    """What ERB would render is not known, as a variable; its code, which may name a secret, is not shown."""
    erb = "<%= p('hunter7') %>"
    text = OWN.replace("m5.large", erb).replace("us-east-1a", erb).replace("size: 3000", f"size: {erb}")
    (found,) = check(text.replace("subnet-0123456789abcdef0", erb))
    assert (found.severity, found.line, "hunter7" in found.text) == ("not checked", 4, False)
    assert "<%…%> is a variable: values with it are not checked, here and in 5 more" in found.text


@pytest.mark.parametrize("key", ["region", "default_key_name", "default_security_groups"])
def test_variable_in_the_configuration(check: Check, key: str) -> None:
    """A variable in cpi.json is named at its key, and nothing is said of what depends on it."""
    group = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/a/0123"
    text = OWN.replace("m5.large", f"m5.large\n    lb_target_groups: ['{group}']")
    disk = "encrypted: true, kms_key_arn: 'arn:aws-cn:kms:cn-north-1:123456789012:key/1'"
    text = text.replace("encrypted: true", disk) if key == "region" else text
    (found,) = check(text, **{key: ["((a))"] if key.endswith("s") else "((a))"})
    assert found[:2] == ("not checked", f"aws.{key}")
    assert "((a)) is a variable" in found.text
    assert check(OWN, secret_access_key="a((b))") == []  # not shown: it may be a secret


def test_values_of_json(check: Check) -> None:
    """Keys and dates are strings, as in the JSON that the Director sends."""
    assert check(OWN.replace("instance_type: m5.large", TAGS)) == []


@pytest.mark.parametrize("text", ["", "[1, 2]", "[((x)), [1]]", "((x))"])
def test_no_hash(check: Check, text: str) -> None:
    """A file that holds no hash, such as one of operations, is an error at its beginning."""
    errors = [each for each in check(text) if each.severity == "error"]
    assert [(each.path, each.source, each.line) for each in errors] == [("", "Director", 1 if text else None)]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["instance_groups: []"], "--manifest names a deployment manifest"),
        (['{"Tables": [{"Content": "config", "Rows": []}]}'], "save the content only"),
        ([CREATE_ENV, OWN], "check it alone"),
        ([RUNTIME], "is a runtime config"),
        ([CPIS], "is a CPI config"),
        ([VARS], "is perhaps a file of variables"),
        ([f"{VARS}az: us-east-1a\n"], "is perhaps a file of variables"),
        ([STATE], "is the state of create-env"),
        ([CPI_JSON], "is a configuration of the CPI, cpi.json"),
        ([OPERATIONS], "is operations"),
        ([V1], "is a manifest of BOSH v1"),
        ([f"{V1}resource_pools: []\ncompilation: {{}}\n"], "is a manifest of BOSH v1"),
    ],
)
def test_other_files(check: Check, files: list[str], words: str) -> None:
    """A file of another kind is refused, with what it is, and what belongs there."""
    with pytest.raises(CloudError) as caught:
        check(files[0], more=files[1:])
    assert "config-0.yml" in caught.value.message
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (VARS, "is perhaps a file of variables"),
        (RUNTIME, "is a runtime config"),
        (OWN, "is a cloud config"),
        (CREATE_ENV, "is a manifest for create-env"),
        (V1, "is a manifest of BOSH v1"),
        (STATE, "is the state of create-env"),
    ],
)
def test_other_manifests(check: Check, manifest: str, words: str) -> None:
    """A file that --manifest names, and that is no manifest, is refused."""
    with pytest.raises(CloudError) as caught:
        check(OWN, manifest)
    assert f"manifest.yml' {words}" in caught.value.message


@pytest.mark.parametrize(("old", "new"), [("vm_types", "resource_pools"), ("disk_types", "disk_pools")])
def test_names_of_create_env(check: Check, old: str, new: str) -> None:
    """A cloud config with create-env's name for a section is a cloud config; the right name is proposed."""
    (found,) = [each for each in check(OWN.replace(f"{old}:", f"{new}:")) if each.path == new]
    assert f"Did you mean {old}?" in found.text


def test_repeated_key(check: Check) -> None:
    """A key that a hash has twice is a warning at the second one."""
    text = OWN.replace("  disk_size: 3000\n", "  disk_size: 3000\n  disk_size: 2048\n")
    text += "azs: [{name: z1}, {name: z2}, {name: z3}]\n"
    found = [each for each in check(text) if "twice" in each.text]
    second = text.splitlines().index("  disk_size: 2048") + 1
    assert [(each.severity, each.path, each.line) for each in found] == [
        ("warning", "disk_types/default/disk_size", second),
        ("warning", "azs", len(text.splitlines())),
    ]


def test_merged_twice(check: Check) -> None:
    """Of several hashes that are merged into one, each counts."""
    text = ANCHORS.replace("x-vm:", "x-key: &key {key_name: a}\nx-vm:")
    assert check(text.replace("{<<: *vm, ", "{<<: *key, <<: *vm, ")) == []


def test_shared_value(check: Check) -> None:
    """A mistake in a value that several entries share is one finding; the same mistake in each is several."""
    whole: dict[str, Any] = yaml.safe_load(OWN)
    disk = {"size": 10240, "iops": 9000}
    for each in whole["vm_types"]:
        each["cloud_properties"]["ephemeral_disk"] = disk
    anchored = yaml.safe_dump(whole)
    assert "*id" in anchored
    assert [each.severity for each in check(anchored)] == ["error"]
    whole["vm_types"][1]["cloud_properties"]["ephemeral_disk"] = {**disk}
    assert len(check(yaml.safe_dump(whole))) == len(whole["vm_types"])


def test_anchor(check: Check) -> None:
    """A mistake in an anchor is found once, at the line where the value stands."""
    found = check(ANCHORS.replace("type: gp3", "type: 3"))
    assert {(each.line, each.path.rpartition("/")[2]) for each in found} == {(2, "type")}
