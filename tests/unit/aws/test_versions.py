import pytest

from airflow_sm_prefer.aws.versions import check_botocore
from airflow_sm_prefer.errors import InvalidSetting


@pytest.mark.parametrize("version", ["1.43.90", "1.43.117", "1.44.0", "2.0.0", "1.43.90.dev1"])
def test_a_botocore_with_preference_lists_will_do(version):
    check_botocore(version)


@pytest.mark.parametrize("version", ["1.43.89", "1.43.9", "1.42.93", "0.99.999"])
def test_an_older_one_is_refused_with_what_to_install(version):
    with pytest.raises(InvalidSetting) as caught:
        check_botocore(version)
    assert version in str(caught.value)
    assert "pip install 'boto3>=1.43.90'" in str(caught.value)


def test_the_installed_one_will_do():
    check_botocore()
