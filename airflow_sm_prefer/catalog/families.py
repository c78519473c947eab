"""What an instance type's name alone tells, for types that are newer than this package too."""

from __future__ import annotations

import re

#: The families that SageMaker counts as accelerated: ml.p*, ml.g* and ml.trn*
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/train-instance-preferences.html).
_ACCELERATED = re.compile(r"ml\.(p|g|trn)\d")

#: Accelerated families without disks of their own. All the others have NVMe (EC2 DescribeInstanceTypes).
_ACCELERATED_ON_EBS_ONLY = re.compile(r"ml\.(p2|p3|g3|g3s)\.")

#: EC2's naming rule: a "d" behind the generation means local disks (m5d, c6gd, r5dn); so do the storage
#: families (https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html).
_CPU_WITH_DISKS = re.compile(r"ml\.(([a-z]+\d+[a-z]*d[a-z]*)|(i|d|h|is|im)\d+[a-z]*)[.-]")


def is_accelerated(instance_type: str) -> bool:
    """Tell whether SageMaker counts a type as accelerated.

    Only a list with such a type waits for capacity, and only there has MaxPendingTimeInSeconds an effect
    (https://docs.aws.amazon.com/sagemaker/latest/dg/train-instance-preferences.html).
    """
    return _ACCELERATED.match(instance_type) is not None


def has_local_storage(instance_type: str) -> bool:
    """Tell whether a type comes with disks of its own, by the rules of its family's name.

    SageMaker refuses VolumeKmsKeyId for such a type, and a training job on it ignores VolumeSizeInGB (SageMaker
    API reference, ``ResourceConfig``).
    """
    if is_accelerated(instance_type):
        return _ACCELERATED_ON_EBS_ONLY.match(instance_type) is None
    return _CPU_WITH_DISKS.match(instance_type) is not None
