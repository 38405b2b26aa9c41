package supervise

// OwnCgroupForTest tells in which cgroup v2 the test runs.
func OwnCgroupForTest() (string, error) { return ownCgroup() }

// RemoveCgroupForTest removes a cgroup with those in it, if they are empty.
func RemoveCgroupForTest(dir string) { removeCgroup(dir) }
