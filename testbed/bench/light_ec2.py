"""A stand-in for EC2 that costs little CPU: it answers what the lives of VMs with a disk each ask.

It checks nothing. It has what makes callers wait: an answer takes a while, a change takes its time, and calls
are throttled. With moto, a hundred callers would wait for its CPU.
"""

import random
import threading
import time
import uuid
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl

from testbed.buckets import THROTTLED, Buckets
from testbed.protocols import Parameters, error_xml
from testbed.rules import REQUEST_ID, Error

ANSWERED = 0.05
"""Seconds until an answer."""


class Transition(NamedTuple):
    """How many seconds a state lasts, and the state after it; none if nothing is left."""

    least: float
    most: float
    after: str


TRANSITIONS = {
    # daemonology.net, 2021: 4.9 s; brevdev/ec2-coldboot-research: 16.4 to 16.6 s
    "pending": Transition(5, 17, "running"),
    # hashicorp/packer-plugin-amazon#682: about a minute
    "shutting-down": Transition(50, 70, "terminated"),
    # kubernetes-sigs/aws-ebs-csi-driver, pkg/cloud/cloud.go: 1.5 s, rarely 4 s
    "creating": Transition(1, 3, "available"),
    "attaching": Transition(1, 4, "attached"),
    "detaching": Transition(1, 4, ""),
    # a guess
    "deleting": Transition(1, 4, ""),
}
ZONE, IMAGE, SUBNET = "us-east-1a", "ami-00000001", "subnet-00000001"
ROOT = "<item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-00000001</volumeId></ebs></item>"
CANNED = {
    "DescribeImages": f"<imagesSet><item><imageId>{IMAGE}</imageId><imageState>available</imageState>"
    "<architecture>x86_64</architecture><rootDeviceName>/dev/xvda</rootDeviceName>"
    f"<blockDeviceMapping>{ROOT}</blockDeviceMapping></item></imagesSet>",
    "DescribeInstanceTypes": "<instanceTypeSet><item><instanceType>m5.large</instanceType>"
    "<ebsInfo><nvmeSupport>required</nvmeSupport></ebsInfo></item></instanceTypeSet>",
    "DescribeSubnets": f"<subnetSet><item><subnetId>{SUBNET}</subnetId><vpcId>vpc-00000001</vpcId>"
    f"<availabilityZone>{ZONE}</availabilityZone><cidrBlock>10.0.0.0/16</cidrBlock>"
    "<availableIpAddressCount>60000</availableIpAddressCount></item></subnetSet>",
    "DescribeSecurityGroups": "<securityGroupInfo><item><groupId>sg-00000001</groupId>"
    "<groupName>bosh</groupName><vpcId>vpc-00000001</vpcId></item></securityGroupInfo>",
}
"""Answers that never change, by action."""


class State:
    """A state, which becomes the next one in time."""

    def __init__(self, name: str, speed: float = 1.0) -> None:
        least, most, self._after = TRANSITIONS.get(name, (0, 0, name))
        self._name = name
        self._until = time.monotonic() + random.uniform(least, most) / speed  # noqa: S311 - protects nothing

    def __str__(self) -> str:
        return self._name if time.monotonic() < self._until else self._after


@dataclass
class Volume:
    """A disk, and where it is attached."""

    state: State
    attachment: State
    instance_id: str = ""


class Server(ThreadingHTTPServer):
    """Lets a hundred connect at once."""

    request_queue_size = 256
    daemon_threads = True


class LightEc2:
    """The stand-in, for one `with` block.

    Attributes:
        speed: How many times faster than at EC2 everything happens.
        buckets: How its calls are throttled.
        endpoint: Its address.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self.buckets = Buckets()
        self.speed = speed
        self._instances: dict[str, State] = {}
        self._volumes: dict[str, Volume] = {}
        self._server = Server(("127.0.0.1", 0), partial(Handler, self))
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add_instance(self, state: str = "running") -> str:
        """Add an instance; returns its id."""
        instance_id = f"i-{uuid.uuid4().hex[:17]}"
        self._instances[instance_id] = State(state, self.speed)
        return instance_id

    def answer(self, given: Parameters) -> tuple[int, str]:
        """Answer a call: an HTTP status and a document."""
        time.sleep(ANSWERED / self.speed)
        action = given["Action"]
        answer: str | Error = THROTTLED["ec2"]
        if self.buckets.allow("ec2", action, given):
            answer = CANNED.get(action) or self._changing(action, given)
        if isinstance(answer, Error):
            return answer.status, error_xml(answer, "ec2")
        return 200, f"<{action}Response><requestId>{REQUEST_ID}</requestId>{answer}</{action}Response>"

    def _changing(self, action: str, given: Parameters) -> str | Error:
        """Carry out a call about instances and volumes."""
        instance_id = given.get("InstanceId.1", "")
        volume_id = given.get("VolumeId") or given.get("VolumeId.1", "")
        answer: str | Error = Error("InvalidAction", f"The stand-in has no {action}.")
        match action:
            case "RunInstances":
                answer = self._instance(self.add_instance("pending"))
            case "TerminateInstances":
                self._instances[instance_id] = State("shutting-down", self.speed)
                answer = self._instance(instance_id)
            case "DescribeInstances":
                answer = f"<reservationSet><item>{self._instance(instance_id)}</item></reservationSet>"
            case "CreateVolume":
                volume_id = f"vol-{uuid.uuid4().hex[:17]}"
                self._volumes[volume_id] = Volume(State("creating", self.speed), State(""))
                answer = self._volume(volume_id)
            case "AttachVolume" | "DetachVolume":
                volume = self._volumes[volume_id]
                volume.attachment = State("attaching" if "Device" in given else "detaching", self.speed)
                volume.instance_id = given["InstanceId"]
                answer = self._attachment(volume_id)
            case "DeleteVolume":
                self._volumes[volume_id].state = State("deleting", self.speed)
                answer = "<return>true</return>"
            case "DescribeVolumes" if str(self._volumes[volume_id].state):
                answer = f"<volumeSet><item>{self._volume(volume_id)}</item></volumeSet>"
            case "DescribeVolumes":
                answer = Error("InvalidVolume.NotFound", f"The volume '{volume_id}' does not exist.")
        return answer

    def _instance(self, instance_id: str) -> str:
        return (
            f"<instancesSet><item><instanceId>{instance_id}</instanceId><imageId>{IMAGE}</imageId>"
            f"<instanceState><name>{self._instances[instance_id]}</name></instanceState>"
            f"<instanceType>m5.large</instanceType><rootDeviceName>/dev/xvda</rootDeviceName>"
            f"<placement><availabilityZone>{ZONE}</availabilityZone></placement>"
            f"<blockDeviceMapping>{ROOT}</blockDeviceMapping><networkInterfaceSet><item>"
            "<networkInterfaceId>eni-00000001</networkInterfaceId><attachment><deviceIndex>0</deviceIndex>"
            "<status>attached</status></attachment></item></networkInterfaceSet></item></instancesSet>"
        )

    def _volume(self, volume_id: str) -> str:
        volume = self._volumes[volume_id]
        is_attached = bool(str(volume.attachment))
        attachments = f"<item>{self._attachment(volume_id)}</item>" if is_attached else ""
        return (
            f"<volumeId>{volume_id}</volumeId><size>1</size><volumeType>gp3</volumeType>"
            f"<encrypted>false</encrypted><availabilityZone>{ZONE}</availabilityZone>"
            f"<status>{'in-use' if is_attached else volume.state}</status>"
            f"<attachmentSet>{attachments}</attachmentSet>"
        )

    def _attachment(self, volume_id: str) -> str:
        volume = self._volumes[volume_id]
        return (
            f"<volumeId>{volume_id}</volumeId><instanceId>{volume.instance_id}</instanceId>"
            f"<status>{volume.attachment}</status>"
        )


class Handler(BaseHTTPRequestHandler):
    """Reads calls, and writes their answers."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    """Buffered, as the second packet of an answer would wait for the receipt of the first."""

    def __init__(self, ec2: LightEc2, *given: Any) -> None:
        self._ec2 = ec2
        super().__init__(*given)

    def do_POST(self) -> None:
        """Answer a call."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        status, document = self._ec2.answer(dict(parse_qsl(body)))
        self.send_response(status)
        self.send_header("Content-Length", str(len(document)))
        self.end_headers()
        self.wfile.write(document.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing of each call."""
