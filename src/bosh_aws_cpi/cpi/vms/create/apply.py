"""Carries out a create_vm, step by step, each with its undo."""

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.encryption_keys import naming_keys
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.cpi.vms.create.instance import InstanceCreation
from bosh_aws_cpi.cpi.vms.create.interfaces import create_interfaces
from bosh_aws_cpi.cpi.vms.create.launch_plan import LaunchPlan
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan import agent_settings


def launch(cloud: Cloud, plan: LaunchPlan) -> str:
    """Create the VM and wait until it runs; after a failure nothing is left behind.

    Returns:
        The VM's id.

    Raises:
        CloudError: An interface could not be created, EC2 refused the launch or a later step, or
            the registry did not accept the settings.
        VMCreationFailed: The instance did not reach the state running.
    """
    return undoing(cloud.undo, lambda undo: _launch(cloud, plan, undo))


def _launch(cloud: Cloud, plan: LaunchPlan, undo: Undo) -> str:
    created = create_interfaces(cloud, plan, undo) if plan.creates_nics_first else []
    if (group := plan.launch_spec.spread) is not None and not group.exists:
        from bosh_aws_cpi.cpi.vms.create.spread import ensure_group  # noqa: PLC0415 - few VMs have a group

        ensure_group(cloud, group)
    with naming_keys(*(key for option in plan.options for key in option.devices.keys)):
        launched = InstanceCreation(cloud, plan, created, undo).run()
    instance = launched.instance
    if created:
        attachments = [(nic.nic_id, nic.attachment_id) for nic in instance.nics]
        network_interfaces.delete_on_termination(cloud.ec2, attachments)
    if not plan.launch_spec.properties.source_dest_check:
        _pass_foreign_traffic(cloud, instance)
    if plan.traffic is not None:
        from bosh_aws_cpi.cpi.vms.create.traffic import route_traffic  # noqa: PLC0415 - few VMs get any

        route_traffic(cloud, plan.traffic, instance, undo)
    settings = agent_settings.full(plan.settings_input, launched.option.devices, plan.mac_addresses(created))
    cloud.registry.save(instance.vm_cid, settings)
    return instance.vm_cid


def _pass_foreign_traffic(cloud: Cloud, instance: Instance) -> None:
    if len(instance.nics) == 1:
        instances.pass_foreign_traffic(cloud.ec2, instance.vm_cid)
        return
    for nic in instance.nics:
        network_interfaces.pass_foreign_traffic(cloud.ec2, nic.nic_id)
