"""The input of `bosh create-env`: a manifest like bosh-deployment's, and a stemcell."""

import hashlib
import io
import json
import socket
import tarfile
from pathlib import Path
from typing import Any

import yaml

from testbed.bosh_cli import Bosh, Run
from testbed.cloud import FakeAws
from testbed.executable import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from testbed.world import ROOT_SIZE, ZONE, World

ADDRESS = "10.0.1.10"
NTP = ["0.pool.ntp.org", "1.pool.ntp.org"]
JOB = {"name": "aws_cpi", "release": "bosh-aws-cpi"}


class Environment:
    """One environment: its manifest, its state and its secrets.

    The attributes may be changed between two runs.
    """

    def __init__(self, bosh: Bosh, folder: Path, release: Path, fake_aws: FakeAws, world: World) -> None:
        self.release = release
        self.stemcell = folder
        self.disk_size = 20_480
        self.instance_type = "m5.large"
        self.jobs: list[dict[str, str]] = []
        self.debug: dict[str, Any] = {"cpi": {"log_level": "debug"}}
        self.aws: dict[str, Any] = {
            "access_key_id": ACCESS_KEY_ID,
            "secret_access_key": SECRET_ACCESS_KEY,
            "default_key_name": world.key_name,
            "default_security_groups": ["bosh"],
            "region": "us-east-1",
            "ec2_endpoint": fake_aws.endpoint,
            "elb_endpoint": fake_aws.endpoint,
        }
        self.options: list[str | Path] = []
        self._bosh = bosh
        self._folder = folder
        self._world = world
        self._port = free_port()

    @property
    def state(self) -> dict[str, Any]:
        """The CLI's own record of its resources."""
        path = self._folder / "state.json"
        state: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return state

    @property
    def secrets(self) -> dict[str, str]:
        """The secrets that no log may contain, by their names."""
        made = yaml.safe_load((self._folder / "vars.yml").read_text())
        return {
            "access key": self.aws["access_key_id"],
            "secret key": self.aws["secret_access_key"],
            "message bus password": made["mbus_bootstrap_password"],
            "message bus key": made["mbus_bootstrap_ssl"]["private_key"].splitlines()[1],
        }

    @property
    def mbus(self) -> str:
        """The address of the VM's agent, with a variable of the CLI for the password."""
        return f"https://mbus:((mbus_bootstrap_password))@127.0.0.1:{self._port}"

    @property
    def agent_settings(self) -> dict[str, Any]:
        """The settings that the VM's agent must boot with, without those that differ per VM."""
        network = {
            "type": "manual",
            "ip": ADDRESS,
            "netmask": "255.255.255.0",
            "gateway": "10.0.1.1",
            "dns": ["10.0.0.2"],
            "use_dhcp": True,
        }
        return {
            "mbus": self.mbus.replace("((mbus_bootstrap_password))", self.secrets["message bus password"]),
            "ntp": NTP,
            "networks": {"default": network},
            "disks": {"system": "/dev/xvda", "ephemeral": "/dev/sdb"},
        }

    def create(self) -> Run:
        """Run `bosh create-env`."""
        return self._run("create-env")

    def delete(self) -> Run:
        """Run `bosh delete-env`."""
        return self._run("delete-env")

    def continue_installation(self, state: dict[str, Any]) -> None:
        """Copy the CLI's installation from another environment, so that nothing is compiled twice."""
        kept = {key: state[key] for key in ("director_id", "installation_id")}
        (self._folder / "state.json").write_text(json.dumps(kept))

    def manifest(self) -> dict[str, Any]:
        """Write the manifest."""
        cache = "/var/vcap/micro_bosh/data/cache"
        env = {
            "password": "*",
            "mbus": {"cert": "((mbus_bootstrap_ssl))"},
            "blobstores": [{"provider": "local", "options": {"blobstore_path": cache}}],
        }
        group = {
            "name": "bosh",
            "instances": 1,
            "jobs": self.jobs,
            "resource_pool": "vms",
            "persistent_disk_pool": "disks",
            "networks": [{"name": "default", "static_ips": [ADDRESS]}],
            "properties": {
                "agent": {"mbus": f"nats://nats:unused@{ADDRESS}:4222"},
                "aws": self.aws,
                "debug": self.debug,
                "ntp": NTP,
            },
        }
        subnet = {
            "range": "10.0.1.0/24",
            "gateway": "10.0.1.1",
            "static": [ADDRESS],
            "dns": ["10.0.0.2"],
            "cloud_properties": {"subnet": self._world.subnet_id},
        }
        pool = {
            "name": "vms",
            "network": "default",
            "stemcell": {"url": self.stemcell.as_uri()},
            "env": {"bosh": env},
            "cloud_properties": {
                "instance_type": self.instance_type,
                "ephemeral_disk": {"type": "gp3", "size": 25_600},
                "availability_zone": ZONE,
            },
        }
        return {
            "name": "bosh",
            # The path as it is: the CLI does not decode a `+` that is written as %2B.
            "releases": [{"name": "bosh-aws-cpi", "url": f"file://{self.release}"}],
            "resource_pools": [pool],
            "disk_pools": [
                {"name": "disks", "disk_size": self.disk_size, "cloud_properties": {"type": "gp3"}},
            ],
            "networks": [{"name": "default", "type": "manual", "subnets": [subnet]}],
            "instance_groups": [group],
            "cloud_provider": {
                "template": JOB,
                "mbus": self.mbus,
                "cert": "((mbus_bootstrap_ssl))",
                "properties": {
                    "agent": {"mbus": self.mbus},
                    "aws": self.aws,
                    "blobstore": {"provider": "local", "path": cache},
                    "debug": self.debug,
                    "ntp": NTP,
                },
            },
            "variables": [
                {"name": "mbus_bootstrap_password", "type": "password"},
                {
                    "name": "default_ca",
                    "type": "certificate",
                    "options": {"is_ca": True, "common_name": "ca"},
                },
                {
                    "name": "mbus_bootstrap_ssl",
                    "type": "certificate",
                    "options": {
                        "ca": "default_ca",
                        "common_name": "127.0.0.1",
                        "alternative_names": ["127.0.0.1"],
                    },
                },
            ],
        }

    def _run(self, command: str) -> Run:
        manifest = self._folder / "bosh.yml"
        manifest.write_text(yaml.safe_dump(self.manifest()))
        state, variables = self._folder / "state.json", self._folder / "vars.yml"
        files = ("--state", state, "--vars-store", variables)
        run = self._bosh.run(command, manifest, *files, *self.options)
        self._see_no_secret(run)
        return run

    def _see_no_secret(self, run: Run) -> None:
        """Check that the operator's output and the programs' output and arguments contain no secret."""
        if not (run.said_by_programs and run.commands):
            raise AssertionError("what the CLI's debug log says of programs is not understood here")
        for text in (run.output, *run.said_by_programs, *run.commands):
            for name, value in self.secrets.items():
                if value in text:
                    raise AssertionError(f"the {name} is in:\n{text}")


def part(whole: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a document at the keys of another one, at every depth."""
    return {
        key: part(whole[key], value) if isinstance(value, dict) else whole.get(key)
        for key, value in like.items()
    }


def write_stemcell(
    folder: Path, image_id: str, version: str, api_version: int, line: str = "ubuntu-jammy"
) -> Path:
    """Write a light stemcell; returns its file."""
    name = f"bosh-aws-xen-hvm-{line}-go_agent"
    image = b""
    document = {
        "name": name,
        "version": version,
        "api_version": api_version,
        "bosh_protocol": 1,
        "sha1": hashlib.sha1(image, usedforsecurity=False).hexdigest(),
        "operating_system": line,
        "stemcell_formats": ["aws-light"],
        "cloud_properties": {
            "name": name,
            "version": version,
            "infrastructure": "aws",
            "architecture": "x86_64",
            "root_device_name": "/dev/xvda",
            "ami": {"us-east-1": image_id},
        },
    }
    path = folder / f"stemcell-{version}.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in {"stemcell.MF": yaml.safe_dump(document).encode(), "image": image}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def register_image(ec2: Any, name: str) -> str:
    """Register one more image that serves as a light stemcell; returns its id."""
    volume = ec2.create_volume(AvailabilityZone=ZONE, Size=ROOT_SIZE, VolumeType="gp2")
    snapshot = ec2.create_snapshot(VolumeId=volume["VolumeId"])
    ec2.delete_volume(VolumeId=volume["VolumeId"])
    answer = ec2.register_image(
        Name=name,
        Architecture="x86_64",
        VirtualizationType="hvm",
        RootDeviceName="/dev/xvda",
        BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot["SnapshotId"]}}],
    )
    image_id: str = answer["ImageId"]
    return image_id


def free_port() -> int:
    """Find a port on the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
