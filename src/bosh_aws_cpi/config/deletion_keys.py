"""The rows of cpi.json's table for deletions, of the section ``aws``; see `keys`."""

from bosh_aws_cpi.config.values import Key, flag, optional_flag

FAST_PATH_DELETE = Key(
    "aws.fast_path_delete",
    flag,
    "delete_vm and delete_disk set the tag `Name` to `to be deleted` and return without waiting until the "
    "resource is gone.",
    default=False,
    is_new=True,
)
DEREGISTER_ON_DELETE = Key(
    "aws.deregister_on_delete",
    flag,
    "delete_vm first deregisters the VM from its target groups and classic load balancers, and waits up to "
    "330 seconds for connections to drain. With `fast_path_delete` it does not wait.",
    default=False,
    is_new=True,
)
SKIP_OS_SHUTDOWN = Key(
    "aws.skip_os_shutdown",
    optional_flag,
    "Whether delete_vm terminates VMs without waiting for their operating system to shut down, unless they "
    "have disks that outlive them. A VM's own `skip_os_shutdown` takes precedence, but has no effect if this "
    "key is not set: `false` means those VMs only. If set, delete_vm looks at the VM first.",
    is_new=True,
    example=True,
)
