"""Spread placement groups."""

from typing import Any

from acceptance.lab import Lab, Said, said_to
from acceptance.patience import NotYet, until
from acceptance.trials.trial import Seen, Trials, compared
from bosh_aws_cpi.aws.sdk.errors import GROUP_EXISTS, GROUP_IN_USE, GROUP_MISSING

TRIALS = Trials()


def _arguments(lab: Lab, name: str) -> dict[str, Any]:
    """The arguments of CreatePlacementGroup."""
    return {"GroupName": name, "Strategy": "spread", "TagSpecifications": lab.tagged("placement-group")}


def _name(lab: Lab) -> str:
    return f"cpi-{lab.token()}"


@TRIALS.of("group-name")
def group_name(lab: Lab) -> Seen:
    """Create a second placement group of the same name."""
    arguments = _arguments(lab, _name(lab))
    lab.ec2.create_placement_group(**arguments)
    said = {"the same name": said_to(lab.ec2.create_placement_group, **arguments)}
    return compared(said, {"the same name": GROUP_EXISTS})


@TRIALS.of("group-tags")
def group_tags(lab: Lab) -> Seen:
    """Look for a placement group by the tags of its creation; record what the creation answers."""
    name = _name(lab)
    answer = lab.ec2.create_placement_group(**_arguments(lab, name))
    answered = ", ".join(sorted(answer.get("PlacementGroup", {}))) or "without the group"
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in lab.tags.items()]

    def shown() -> dict[str, Any]:
        groups = lab.ec2.describe_placement_groups(Filters=filters)["PlacementGroups"]
        found: dict[str, Any] | None = next((each for each in groups if each["GroupName"] == name), None)
        if found is None:
            raise NotYet("no such group")
        return found

    tags = {tag["Key"]: tag["Value"] for tag in until(shown)["Tags"]}
    return Seen(lab.tags.items() <= tags.items(), f"found by its tags, has {len(tags)}; answer: {answered}")


@TRIALS.of("group-unknown")
def group_unknown(lab: Lab) -> Seen:
    """Launch an instance into a placement group that does not exist."""
    placement = {"GroupName": _name(lab)}
    said = {"unknown": said_to(lab.ec2.run_instances, **lab.launch_arguments(Placement=placement))}
    return compared(said, {"unknown": GROUP_MISSING})


@TRIALS.of("group-in-use")
def group_in_use(lab: Lab) -> Seen:
    """Delete a placement group while it has an instance, and after the end of that instance."""
    name, delete = _name(lab), lab.ec2.delete_placement_group
    lab.ec2.create_placement_group(**_arguments(lab, name))

    def launch() -> str:
        said = said_to(lab.ec2.run_instances, **lab.launch_arguments(Placement={"GroupName": name}))
        if said.code in GROUP_MISSING:
            raise NotYet(said.text)
        if said.error is not None:
            raise said.error
        instance_id: str = said.answer["Instances"][0]["InstanceId"]
        return instance_id

    instance_id = until(launch)
    lab.wait_for_instance("running", instance_id)
    used: Said = said_to(delete, GroupName=name)
    lab.terminate(instance_id)
    lab.wait_for_instance("terminated", instance_id)
    said = {"in use": used, "terminated": said_to(delete, GroupName=name)}
    return compared(said, {"in use": GROUP_IN_USE, "terminated": {"success"}})
