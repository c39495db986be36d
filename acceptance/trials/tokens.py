"""Client tokens: how AWS answers a retry."""

from collections.abc import Callable
from typing import Any

from acceptance.lab import Lab, Said, said_to
from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws.sdk.errors import TOKEN_SPENT

TRIALS = Trials()


def _same(first: str, said: Said, identifier: Callable[[Any], str]) -> bool:
    """Whether a call was answered with the first call's resource."""
    return not said.code and identifier(said.answer) == first


def _instance_id(answer: Any) -> str:
    return str(answer["Instances"][0]["InstanceId"])


def _volume_id(answer: Any) -> str:
    return str(answer["VolumeId"])


def _copy_id(answer: Any) -> str:
    return str(answer["Volumes"][0]["VolumeId"])


def _nic_id(answer: Any) -> str:
    return str(answer["NetworkInterface"]["NetworkInterfaceId"])


def _text(said: Said, first: str, identifier: Callable[[Any], str]) -> str:
    return (
        said.text if said.code else ("the first one" if identifier(said.answer) == first else "another one")
    )


@TRIALS.of("token-instance")
def token_instance(lab: Lab) -> Seen:
    """Launch twice with one client token, then with another type, then after the termination."""
    arguments = lab.launch_arguments(ClientToken=lab.token())
    run = lab.ec2.run_instances
    first = _instance_id(run(**arguments))
    again = said_to(run, **arguments)
    other = said_to(run, **{**arguments, "InstanceType": "t3.small"})
    lab.wait_for_instance("running", first)
    lab.terminate(first)
    lab.wait_for_instance("terminated", first)
    ended = said_to(run, **arguments)
    agrees = _same(first, again, _instance_id) and all(
        each.code in TOKEN_SPENT or _same(first, each, _instance_id) for each in (other, ended)
    )
    texts = (_text(each, first, _instance_id) for each in (again, other, ended))
    return Seen(agrees, "again: {}; with another type: {}; after its end: {}".format(*texts))


@TRIALS.of("token-volume")
def token_volume(lab: Lab) -> Seen:
    """Create a volume twice with one client token, then a larger one, then after it was deleted."""
    arguments = lab.volume_arguments(ClientToken=lab.token())
    create = lab.ec2.create_volume
    first = _volume_id(create(**arguments))
    again = said_to(create, **arguments)
    other = said_to(create, **{**arguments, "Size": 2})
    lab.wait_for_volume("available", first)
    lab.ec2.delete_volume(VolumeId=first)
    deleted = said_to(create, **arguments)
    agrees = (
        _same(first, again, _volume_id)
        and other.code in TOKEN_SPENT
        and (deleted.code in TOKEN_SPENT or _same(first, deleted, _volume_id))
    )
    texts = (_text(each, first, _volume_id) for each in (again, other, deleted))
    return Seen(agrees, "again: {}; larger: {}; after it was deleted: {}".format(*texts))


@TRIALS.of("token-volume-copy")
def token_volume_copy(lab: Lab) -> Seen:
    """Copy a volume twice with one client token, then with another size."""
    arguments = lab.copy_arguments(lab.create_volume(), ClientToken=lab.token())
    copy = lab.ec2.copy_volumes
    first = _copy_id(copy(**arguments))
    again = said_to(copy, **arguments)
    other = said_to(copy, **{**arguments, "Size": 2})
    agrees = _same(first, again, _copy_id) and other.code in TOKEN_SPENT
    texts = (_text(each, first, _copy_id) for each in (again, other))
    return Seen(agrees, "again: {}; with another size: {}".format(*texts))


@TRIALS.of("token-interface")
def token_interface(lab: Lab) -> Seen:
    """Create an interface twice with one client token, then in another subnet, then after it was deleted."""
    arguments = lab.interface_arguments(ClientToken=lab.token())
    create = lab.ec2.create_network_interface
    first = _nic_id(create(**arguments))
    again = said_to(create, **arguments)
    other = said_to(create, **{**arguments, "SubnetId": lab.network.subnet_ids[1]})
    lab.ec2.delete_network_interface(NetworkInterfaceId=first)
    deleted = said_to(create, **arguments)
    agrees = (
        _same(first, again, _nic_id)
        and other.code in TOKEN_SPENT
        and (deleted.code in TOKEN_SPENT or _same(first, deleted, _nic_id))
    )
    texts = (_text(each, first, _nic_id) for each in (again, other, deleted))
    return Seen(agrees, "again: {}; in another subnet: {}; after it was deleted: {}".format(*texts))


@TRIALS.of("token-snapshot")
def token_snapshot(lab: Lab) -> Seen:
    """Start a snapshot twice with one client token, then a larger one."""
    token = lab.token()
    first = str(lab.start_snapshot(ClientToken=token)["SnapshotId"])
    again = str(lab.start_snapshot(ClientToken=token)["SnapshotId"])
    other = said_to(lab.start_snapshot, ClientToken=token, VolumeSize=2)
    agrees = again == first and other.code == "ConflictException"
    return Seen(agrees, f"again: {'the first one' if again == first else again}; larger: {other.text}")
