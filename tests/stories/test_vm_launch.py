"""create_vm: everything else that RunInstances is told, and zones."""

from testbed.cloud import FakeAws
from testbed.world import World
from tests.stories.story import Story, below

LONG = "x" * 300


def test_defaults(story: Story, world: World) -> None:
    """Key, profile and metadata options come from the configuration unless the VM has its own."""
    options = {"http_tokens": "required", "http_put_response_hop_limit": "2", "instance_metadata_tags": None}
    cpi = story.cpi_with(default_iam_instance_profile=world.instance_profile, metadata_options=options)
    vm_cid = story.create_vm({"tenancy": "default"}, executable=cpi).ok()[0]
    (parameters,) = story.parameters_of("RunInstances")
    assert parameters["ImageId"] == world.image_id
    assert parameters["KeyName"] == world.key_name
    assert below(parameters, "IamInstanceProfile") == {"Name": world.instance_profile}
    assert below(parameters, "Placement") == {"AvailabilityZone": world.zone}
    assert below(parameters, "MetadataOptions") == {"HttpTokens": "required", "HttpPutResponseHopLimit": "2"}
    assert (parameters["MinCount"], parameters["MaxCount"]) == ("1", "1")
    instance = world.instance(vm_cid)
    assert instance["State"]["Name"] == "running"
    assert instance["MetadataOptions"]["HttpTokens"] == "required"


def test_new_profile(story: Story, fake_aws: FakeAws, world: World) -> None:
    """A launch with a profile that EC2 does not know yet is tried again, with the same client token."""
    fake_aws.rule(action="CreateInstanceProfile", unseen=2)
    fake_aws.client("iam").create_instance_profile(InstanceProfileName="new")
    vm_cid = story.create_vm({"iam_instance_profile": "new"}).ok()[0]
    assert world.instance(vm_cid)["IamInstanceProfile"]["Arn"].endswith("/new")
    launches = story.parameters_of("RunInstances")
    assert (len(launches), len({each["ClientToken"] for each in launches})) == (3, 1)


def test_own_properties(story: Story, world: World) -> None:
    """The VM's own properties win over the configuration's; metadata options are merged."""
    world.ec2.create_key_pair(KeyName="own")
    world.ec2.create_placement_group(GroupName="close", Strategy="cluster")
    cpi = story.cpi_with(
        default_iam_instance_profile="unknown",
        metadata_options={"http_tokens": "required", "http_endpoint": "enabled"},
    )
    properties = {
        "key_name": "own",
        "iam_instance_profile": world.instance_profile,
        "placement_group": "close",
        "tenancy": "dedicated",
        "metadata_options": {"http_tokens": "optional", "http_protocol_ipv_6": "enabled"},
    }
    vm_cid = story.create_vm(properties, executable=cpi).ok()[0]
    (parameters,) = story.parameters_of("RunInstances")
    assert below(parameters, "MetadataOptions") == {
        "HttpTokens": "optional",
        "HttpEndpoint": "enabled",
        "HttpProtocolIpv6": "enabled",
    }
    instance = world.instance(vm_cid)
    assert instance["KeyName"] == "own"
    assert instance["IamInstanceProfile"]["Arn"].endswith(f"/{world.instance_profile}")
    assert instance["Placement"] == {
        "AvailabilityZone": world.zone,
        "GroupName": "close",
        "Tenancy": "dedicated",
    }


def test_no_key(story: Story) -> None:
    """Without a key, a profile and options there is nothing about them in the launch."""
    story.create_vm(executable=story.cpi_with(default_key_name=None)).ok()
    (parameters,) = story.parameters_of("RunInstances")
    names = {name.split(".")[0] for name in parameters}
    assert names.isdisjoint({"KeyName", "IamInstanceProfile", "MetadataOptions"})


def test_tags(story: Story, origin: dict[str, str], world: World) -> None:
    """The VM's tags win over the environment's; they are cut, made strings, and put on everything.

    So are those that tell where it comes from, which win over both.
    """
    env = {"bosh": {"tags": {"owner": "env", "cost": 7, "none": None, "bosh_director_uuid": "x"}}}
    odd = {LONG: LONG, "flag": True, "list": [1, {"a": None}], "empty": ""}
    properties = {"tags": {"owner": "vm", "bosh_agent_id": "x", **odd}}
    vm_cid = story.create_vm(properties, env=env).ok()[0]
    expected = {
        "owner": "vm",
        "cost": "7",
        "flag": "true",
        "empty": "",
        "x" * 127: "x" * 255,
        **origin,
    }
    instance = world.instance(vm_cid)
    volumes = [device["Ebs"]["VolumeId"] for device in instance["BlockDeviceMappings"]]
    interfaces = [nic["NetworkInterfaceId"] for nic in instance["NetworkInterfaces"]]
    assert (len(volumes), len(interfaces)) == (2, 1)
    for resource in (vm_cid, *volumes, *interfaces):
        tags = story.tags_of(resource)
        assert tags.pop("list").replace(" ", "") == '[1,{"a":null}]'
        assert tags == expected


def test_hinted_disks(story: Story, world: World, fake_aws: FakeAws) -> None:
    """Subnet, VM and hinted disks must be in one zone; a disk that is unknown is DiskNotFound."""
    here, there = story.lay_disk(), story.lay_disk(world.other_zone)
    wrong = "can't use multiple availability zones: subnet in us-east-1a, VM in us-east-1{}"
    apart = story.create_vm({"availability_zone": world.other_zone})
    assert apart.error == story.failure("CloudError", wrong.format("b"))
    far = story.create_vm(disks=[here, there])
    assert far.error == story.failure("CloudError", wrong.format("a, and volume in us-east-1a, us-east-1b"))
    unknown = "vol-0123456789abcdef0"
    gone = story.create_vm(disks=[here, unknown])
    assert gone.error == story.failure("DiskNotFound", f"Disk '{unknown}' not found")
    assert [action for action in fake_aws.actions() if not action.startswith("Describe")] == []
    story.create_vm(disks=[here, here]).ok()
    (volume,) = world.ec2.describe_volumes(VolumeIds=[here])["Volumes"]
    assert volume["State"] == "available"


def test_settings_too_large(story: Story) -> None:
    """Settings that EC2 won't take are refused, with size and limit, before an interface is made either."""
    networks = {"one": story.network("10.0.1.10"), "two": story.network("10.0.2.10", 1)}
    answer = story.create_vm(networks=networks, env={"filler": "ü" * 9000})
    message = answer.error["message"]
    assert "16384" in message
    size = next(int(word) for word in message.split() if word.startswith("18"))
    assert 18_000 < size < 19_000
    assert "DescribeSubnets" in story.check_refusal(answer, message)


def test_unknown_image(story: Story) -> None:
    """An AMI that is unknown is named without the mark of light stemcells, with the region and the remedy."""
    unknown = story.create_vm(stemcell_cid="ami-0123456789abcdef0 light")
    story.check_refusal(unknown, "could not find AMI 'ami-0123456789abcdef0'")
    assert unknown.error["message"].endswith(
        ". It does not exist in region us-east-1, or its owner does not share it with this account: "
        "upload the stemcell again (bosh upload-stemcell --fix), or correct aws.region"
    )
