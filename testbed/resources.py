"""The resources in moto: deleted, or restored to an earlier state."""

import pickle
import threading
from typing import Any

from moto.backends import get_backend
from moto.core.base_backend import BackendDict
from moto.core.model_instances import reset_model_data
from moto.ec2.models import ec2_backends

from testbed.iam import ACCOUNT
from testbed.moto_patches.copies import contents_of

REGION = "us-east-1"


class Resources:
    """The resources of all services, accounts and regions.

    A thousand tests begin with the same network. It is created by calls once, kept, and restored for each of
    them: that takes two milliseconds, the calls two hundred.

    Attributes:
        generation: Increases whenever everything is deleted. A call with an earlier one is a former test's.
    """

    def __init__(self, lock: threading.Lock) -> None:
        self.generation = 0
        self._lock = lock
        self._kept = pickle.dumps({})

    def delete(self) -> None:
        """Delete everything."""
        with self._lock:
            self._delete()

    def keep(self) -> None:
        """Keep a copy of everything; a pickle is copied faster than objects."""
        with self._lock:
            present = {
                service.service_name: {account: dict(regions) for account, regions in service.items()}
                for service in _services()
            }
            self._kept = pickle.dumps(present)

    def restore(self) -> None:
        """Replace everything by what was kept."""
        with self._lock:
            self._delete()
            for name, accounts in pickle.loads(self._kept).items():  # noqa: S301 - written here
                for account, regions in accounts.items():
                    get_backend(name)[account].update(regions)

    def existing(self) -> dict[str, list[str]]:
        """List what EC2 has in the tests' account, of the kinds that a CPI creates.

        Returns:
            Ids under `instances` (terminated ones are gone), `volumes`, `interfaces`, `snapshots`, `images`,
            `subnets` and `spot requests` (those that are open), and names under `placement groups`.
        """
        with self._lock:
            ec2: Any = ec2_backends[ACCOUNT][REGION]
            requests = ec2.spot_instance_requests.values()
            return {
                "instances": [each.id for each in ec2.all_instances() if each.state != "terminated"],
                "volumes": [each.id for each in ec2.describe_volumes()],
                "interfaces": [*ec2.enis],
                "snapshots": [*ec2.snapshots],
                "images": [each.id for each in ec2.amis.values() if each.owner_id == ACCOUNT],
                "subnets": [subnet_id for zone in ec2.subnets.values() for subnet_id in zone],
                "placement groups": [*vars(ec2).get("testbed_placement_groups", ())],
                "spot requests": [each.id for each in requests if each.state == "open"],
            }

    def contents(self) -> dict[str, list[str]]:
        """Tell what is written on each volume of EC2."""
        with self._lock:
            backends = [each for regions in ec2_backends.values() for each in regions.values()]
            return {volume.id: contents_of(volume) for each in backends for volume in each.volumes.values()}

    def _delete(self) -> None:
        self.generation += 1
        for service in _services():
            service.clear()
        _services().clear()
        reset_model_data()


def _services() -> list[BackendDict[Any]]:
    """List the services that have any resources."""
    services: list[BackendDict[Any]] = vars(BackendDict)["_instances"]
    return services
