"""Cloud configs without mistakes, as people write them; the ids in them exist nowhere."""

OWN = """
azs:
- name: z1
  cloud_properties: {availability_zone: us-east-1a}
- name: z2
  cloud_properties: {availability_zone: us-east-1a}
- name: z3
  cloud_properties: {availability_zone: us-east-1a}

vm_types:
- name: default
  cloud_properties:
    instance_type: m5.large
    ephemeral_disk: {size: 25_000, type: gp3}
- name: large
  cloud_properties:
    instance_type: m5.xlarge
    ephemeral_disk: {size: 50_000, type: gp3}

disk_types:
- name: default
  disk_size: 3000
- name: large
  disk_size: 50_000
  cloud_properties: {type: gp3, encrypted: true}

networks:
- name: default
  type: manual
  subnets:
  - range: 10.0.0.0/24
    gateway: 10.0.0.1
    azs: [z1, z2, z3]
    dns: [8.8.8.8]
    reserved: [10.0.0.0-10.0.0.9]
    cloud_properties: {subnet: subnet-0123456789abcdef0}
- name: vip
  type: vip

vm_extensions:
- name: 5GB_ephemeral_disk
  cloud_properties: {ephemeral_disk: {size: 5120, type: gp3}}

compilation:
  workers: 5
  reuse_compilation_vms: true
  az: z1
  vm_type: default
  network: default
"""
"""In the shape of bosh-deployment's aws/cloud-config.yml."""
ANCHORS = """
x-disk: &disk {size: 10240, type: gp3}
x-vm: &vm
  instance_type: m5.large
  ephemeral_disk: *disk
azs: [{name: z1, cloud_properties: {availability_zone: us-east-1a}}]
vm_types:
- {name: default, cloud_properties: *vm}
- name: large
  cloud_properties: {<<: *vm, instance_type: m5.xlarge}
networks:
- name: default
  subnets:
  - {range: 10.0.1.0/24, gateway: 10.0.1.1, reserved: [10.0.1.2-10.0.1.3], az: z1,
      cloud_properties: {subnet: subnet-1}}
compilation: {workers: 1, az: z1, vm_type: default, network: default}
"""
KINDS = """
azs: [{name: z1, cloud_properties: {availability_zone: us-east-1a}, cpi: aws}]
vm_types:
- {name: default, cloud_properties: {instance_type: m5.large}}
- {name: 8, cloud_properties: {instance_type: r5.2xlarge, ephemeral_disk: {size: 100_000, type: gp3}}}
vm_extensions:
- {name: router, cloud_properties: {lb_target_groups: [web], security_groups: [bosh, web]}}
- {name: credhub-lb}
- {name: nothing, cloud_properties: {}}
disk_types: [{name: fast, disk_size: 102400, cloud_properties: {type: io2, iops: 10_000}}]
networks:
- name: default
  managed: false
  subnets:
  - az: z1
    range: 10.0.16.0/20
    gateway: 10.0.16.1
    reserved: [10.0.16.0 - 10.0.16.3, 10.0.31.255]
    static: [10.0.31.190-10.0.31.254]
    prefix: "32"
    cloud_properties: {subnet: subnet-1, security_groups: [sg-0123456789abcdef0]}
  - {range: 10.0.1.0/24, gateway: 10.0.1.1, reserved: [10.0.1.0/29], azs: [z1],
      cloud_properties: {subnet: subnet-2}}
- name: ipv6
  subnets:
  - range: 2600:1f18:1:2::/64
    gateway: "2600:1f18:1:2::1"
    reserved: ["2600:1f18:1:2::2-2600:1f18:1:2::3"]
    static: ["2600:1f18:1:2::100-2600:1f18:1:2::1ff"]
    dns: ["2606:4700:4700::1111"]
    az: z1
    cloud_properties: {subnet: subnet-1}
- name: delegated
  subnets:
  - {range: 10.0.2.0/24, gateway: 10.0.2.1, prefix: 28, az: z1, cloud_properties: {subnet: subnet-1}}
  - {range: "2600:1f18:1:2::/64", gateway: "2600:1f18:1:2::1", prefix: 80, az: z1,
      cloud_properties: {subnet: subnet-1}}
- name: managed
  managed: true
  subnets:
  - {name: one, azs: [z1], netmask_bits: 24, prefix: 32, cloud_properties: {vpc_id: vpc-1,
      route_table: rtb-1, tags: {a: b}}}
  - {name: two, azs: [z1], range: 10.0.2.0/24, gateway: 10.0.2.1,
      cloud_properties: {vpc_id: vpc-1, ipv6: true}}
- {name: dynamic, type: dynamic, dns: [10.0.0.2], cloud_properties: {subnet: subnet-1,
    security_groups: [web]}}
- {name: other, type: dynamic, subnets: [{azs: [z1], dns: [10.0.0.2],
    cloud_properties: {subnet: subnet-1}}]}
- {name: vip, type: vip, cloud_properties: {}, subnets: [{static: [203.0.113.5,
    203.0.113.8-203.0.113.9], azs: [z1]}]}
- {name: other-vip, type: vip}
compilation:
  {workers: 6, network: default, az: z1, vm_type: default, vm_extensions: [nothing], orphan_workers: true}
"""
"""Networks of all kinds, and what cf-deployment's cloud config has beside."""
EVERY_PROPERTY = """
azs: [{name: z1, cloud_properties: {availability_zone: us-east-1a}}]
vm_types:
- name: default
  cloud_properties:
    instance_type: m5d.large
    instance_type_fallbacks: [m5ad.large, m6id.large]
    key_name: bosh
    security_groups: [web, sg-0123456789abcdef0]
    iam_instance_profile: web
    elbs: [web]
    lb_target_groups: [web]
    placement_group: web
    tenancy: dedicated
    auto_assign_public_ip: true
    advertised_routes: [{table_id: rtb-1, destination: 10.9.0.0/16}]
    source_dest_check: false
    raw_instance_storage: true
    ebs_optimized: true
    cpu_options: {core_count: 1, threads_per_core: 1, amd_sev_snp: disabled}
    metadata_options:
      {http_tokens: required, http_put_response_hop_limit: 2, http_protocol_ipv_6: enabled,
          http_endpoint: enabled}
    tags: {team: web, number: 5, nothing: null}
    ephemeral_disk: {size: 20480, type: gp3, iops: 4000, throughput: 500, encrypted: true,
        kms_key_arn: "arn:aws:kms:us-east-1:123456789012:key/1"}
    root_disk: {size: 20480, type: gp3, iops: 3000, throughput: 125, encrypted: true}
- name: spot
  cloud_properties: {instance_type: t3.micro, spot_bid_price: 0.05, spot_ondemand_fallback: true,
      credit_specification: unlimited, metadata_options: {http_protocol_ipv6: enabled}}
- {name: reserved, cloud_properties: {instance_type: m5.large, capacity_reservation: {id: cr-1}}}
- {name: hosted, cloud_properties: {instance_type: m5.large, dedicated_host: {id: h-1},
    ephemeral_disk: {use_root_disk: true}}}
- {name: stored, cloud_properties: {instance_type: m3.large, ephemeral_disk: {use_instance_storage: true}}}
disk_types:
- {name: default, disk_size: 10240, cloud_properties: {type: io1, iops: 500, encrypted: true,
    kms_key_arn: "arn:aws:kms:us-east-1:123456789012:key/1", tags: {a: b}, name: data}}
networks:
- name: default
  subnets:
  - {range: 10.0.1.0/24, gateway: 10.0.1.1, reserved: [10.0.1.2-10.0.1.3], az: z1,
      cloud_properties: {subnet: subnet-1, security_groups: [web]}}
compilation: {workers: 1, az: z1, network: default, vm_resources: {cpu: 2, ram: 4096,
    ephemeral_disk_size: 20_000}}
"""
VARIABLES = """
azs: ((azs))
vm_types:
- {name: default, cloud_properties: ((properties))}
- {name: large, cloud_properties: {instance_type: ((type)), ephemeral_disk: {type: ((disk)),
    iops: 90_000}, tags: {a: "x-((b))"}}}
- name: ((name))
  cloud_properties: {instance_type: m5.large, ephemeral_disk: ((whole)),
      security_groups: [((group)), web], capacity_reservation: {id: ((id))}}
vm_extensions: [((extension)), {name: public, cloud_properties: ((public))}]
disk_types: [{name: default, disk_size: ((size)), cloud_properties: {type: ((disk)), iops: 90_000}}]
networks:
- name: default
  type: manual
  subnets:
  - {range: ((range)), gateway: ((gateway)), azs: ((azs)), reserved: ((list)),
      static: [10.0.0.5-((last))], cloud_properties: {subnet: ((subnet))}}
  - {range: 10.0.2.0/24, gateway: 10.0.2.1, azs: [((az)), z2], reserved: [((one))],
      prefix: ((prefix)), cloud_properties: ((all))}
- ((network))
- {name: other, type: ((kind)), subnets: ((subnets))}
compilation: {workers: ((workers)), az: ((az)), vm_type: ((vm_type)),
    network: ((compilation_network)), vm_extensions: [((extension))]}
"""
"""A cloud config in which variables are left."""
CREATE_ENV = """
name: bosh
releases: [{name: bosh, url: "https://example.com", sha1: abc}]
resource_pools:
- name: vms
  network: private
  stemcell: {url: "https://example.com", sha1: abc}
  cloud_properties:
    availability_zone: us-east-1a
    instance_type: m5.large
    ephemeral_disk: {size: 25_000, type: gp3}
  env: {bosh: {password: ((password)), mbus: {cert: ((mbus.certificate))}}}
disk_pools: [{name: disks, disk_size: 65_536, cloud_properties: {type: gp3}}]
networks:
- name: private
  type: manual
  subnets: [{range: 10.0.0.0/24, gateway: 10.0.0.1, static: [10.0.0.6], dns: [8.8.8.8],
      cloud_properties: {subnet: subnet-1}}]
- {name: public, type: vip}
instance_groups:
- name: bosh
  instances: 1
  jobs: [{name: nats, release: bosh}]
  resource_pool: vms
  persistent_disk_pool: disks
  networks:
  - {name: private, static_ips: [10.0.0.6], default: [dns, gateway]}
  - {name: public, static_ips: [203.0.113.5]}
  properties: {nats: {password: ((nats))}}
cloud_provider:
  template: {name: aws_cpi, release: bosh-aws-cpi}
  mbus: https://mbus:((mbus_password))@10.0.0.6:6868
  cert: ((mbus))
  properties:
    agent: {mbus: "https://mbus:((mbus_password))@0.0.0.0:6868"}
    blobstore: {provider: local, path: /var/vcap/micro_bosh/data/cache}
    env: {no_proxy: 10.0.0.6}
    ntp: [169.254.169.123]
    aws:
      access_key_id: ((key_id))
      secret_access_key: ((key))
      region: us-east-1
      default_key_name: bosh
      default_security_groups: [bosh]
"""
RIGHT = {
    "own": [OWN],
    "kinds": [KINDS],
    "anchors": [ANCHORS],
    "every property": [EVERY_PROPERTY],
    "several files": [
        OWN,
        "vm_extensions: [{name: more, cloud_properties: {source_dest_check: false}}]",
        "vm_types: [{name: more, cloud_properties: {instance_type: m5.large}}]",
        "disk_types: [{name: more, disk_size: 1024}]",
    ],
    "create-env": [CREATE_ENV],
}
"""The files, by what they show."""
