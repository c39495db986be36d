"""docs/cloud-config.schema.json in an editor: what the real yaml-language-server says, proposes and shows."""

from __future__ import annotations

import re
import shutil
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
import yaml

from tests.stories.checked_config import WRONG_TYPES, right
from tests.stories.right_configs import EVERY_PROPERTY, RIGHT, UNKNOWN
from tests.unit.language_server import CURSOR, LanguageServer, installed

if TYPE_CHECKING:
    from testbed.world import World

FILES = [text for name, texts in RIGHT.items() if name != "create-env" for text in texts]
CONFIG = right(cast("World", SimpleNamespace(zone="a", other_zone="b", subnet_ids=["s-0", "s-1", "s-2"])))
VM = "vm_types: [{{name: a, cloud_properties: {{{}}}}}]"
"""A VM type with some property."""
SAID = {
    VM.format("ephemeral_disk: {size: 10 GB}"): "Expected an integer.",
    VM.format("ephemeral_disk: {size: 1_0_}"): "Expected an integer.",
    VM.format("ephemeral_disk: {encrypted: maybe}"): "Expected true or false.",
    VM.format("ephemeral_disk: 10"): "Expected a hash.",
    VM.format("ephemeral_disk: [10]"): "Expected a hash.",
    VM.format("ephemeral_disk: large"): "Expected a hash.",
    VM.format("ephemeral_disk: {sise: 10}"): "Property sise is not allowed.",
    VM.format("security_groups: bosh"): "Expected a list.",
    VM.format("security_groups: {name: bosh}"): "Expected a list.",
    VM.format("spot_bid_price: cheap"): "Expected a number.",
    VM.format("bandwidth_weighting: ebs"): "Expected default, vpc-1 or ebs-1.",
    VM.format("spread: preferred"): "Expected true or false or prefer.",
    VM.format("credit_specification: free"): "Expected a hash, standard or unlimited.",
    VM.format("lb_target_groups: [80]"): "Expected a hash or a string.",
    VM.format("lb_target_groups: [{arn: web}]"): "Expected the ARN of a target group.",
    VM.format("advertised_routes: [{table_id: rtb-1, destination: all}]"): (
        "Expected a range in CIDR notation."
    ),
    VM.format("key_name: [bosh]"): "Incorrect type. Expected one of null, string.",
    "vm_types: [{name: a, cloud_properties: null}]": "Expected a hash.",
    "vm_types: [{cloud_properties: {}}]": 'Missing property "name".',
    "disk_types: [{name: a, disk_size: 3 GB}]": "Expected an integer.",
    "disk_types: [{name: a, disk_size: 0}]": "Value is below the minimum of 1.",
    "networks: [{name: a, type: static}]": "Expected manual, dynamic or vip.",
    "networks: [{name: a, type: null}]": "Expected manual, dynamic or vip.",
    "networks: [{name: a, type: dynamic, managed: true}]": "Property managed is not allowed.",
    "networks: [{name: a, subnets: none}]": "Expected a list.",
    "networks: [a]": "Expected a hash.",
    "azs: null": "Expected a list.",
    "compilation: {workers: many, network: a}": "Expected an integer.",
    "compilation: {workers: 1, network: a, orphan_workers: 1}": "Expected true or false.",
}
"""The one message about each document."""
OF_VM = "vm_types:\n- name: a\n  cloud_properties:\n    instance_type: a\n    "
PROPOSED = {
    CURSOR: ["azs", "vm_types", "vm_extensions", "disk_types", "networks", "compilation"],
    f"networks:\n- name: a\n  type: {CURSOR}\n": ["manual", "dynamic", "vip"],
    f"networks:\n- name: a\n  s{CURSOR}\n": ["type", "managed", "subnets"],
    f"networks:\n- name: a\n  type: dynamic\n  d{CURSOR}\n": ["subnets", "dns", "cloud_properties"],
    OF_VM.replace("a\n    ", CURSOR): ["t3.medium", "m7i.large", "null"],
    f"{OF_VM}metadata_options:\n      http_tokens: {CURSOR}\n": ["optional", "required", "null"],
    f"{OF_VM}credit_specification: {CURSOR}\n": ["standard", "unlimited"],
    f"{OF_VM}bandwidth_weighting: {CURSOR}\n": ["default", "vpc-1", "ebs-1", "null"],
    f"{OF_VM}ebs_optimized: {CURSOR}\n": ["true", "false", "null"],
    f"{OF_VM}ephemeral_disk:\n      {CURSOR}\n": ["size", "type", "encrypted", "kms_key_arn"],
}
"""What is proposed, among others."""
SHOWN = {
    "networks: [{name: a, ty|pe: vip}]": "Type of the network.",
    VM.format("ephemeral_|disk: {}"): 'Disk for jobs, packages and logs: see "ephemeral_disk" in '
    "docs/cloud-properties.md. Default: `aws.default_ephemeral_disk`.",
    "disk_types: [{name: a, disk_si|ze: 50_000}]": "MiB.",
}
KEY = re.compile(r"(?<=\w)\w: ")
"""The end of a key."""


def test_editor() -> None:
    """Right files are right, mistakes are told without patterns, words are proposed, hints are readable.

    It is one test, so that there is one process of the server.
    """
    if shutil.which("npm") is None:
        pytest.skip("npm is missing: what editors say of the schema was not tried")
    try:
        program = installed()
    except subprocess.SubprocessError as error:
        pytest.skip(f"{error}: what editors say of the schema was not tried")
    wrong = [yaml.safe_dump(mistake.made_in(CONFIG)) for mistake in WRONG_TYPES]
    with LanguageServer(program) as server:
        accepted = server.marked([*FILES, *UNKNOWN.values()])
        assert {text: said for text, said in accepted.items() if said} == {}
        said = server.marked([*SAID, *wrong])
        assert {text: said[text] for text in SAID} == {text: [message] for text, message in SAID.items()}
        assert [text for text in wrong if not said[text] or "pattern" in str(said[text])] == []
        proposed = {text: server.proposed(text) for text in PROPOSED}
        assert {text: [each for each in proposed[text] if each in PROPOSED[text]] for text in proposed} == (
            PROPOSED
        )
        title = "#### BOSH cloud config for AWS\n\n"
        assert {text: server.shown(text).removeprefix(title).split("\n")[0] for text in SHOWN} == SHOWN
        places = [found.start() for found in KEY.finditer(EVERY_PROPERTY)]
        hints = [server.shown(EVERY_PROPERTY[:place] + CURSOR + EVERY_PROPERTY[place:]) for place in places]
        assert [hint for hint in hints if "\\" in hint or "](#" in hint] == []
