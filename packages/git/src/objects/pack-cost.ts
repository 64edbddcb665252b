/**
 * Before the first byte of a pack, git compares each file with ten others to find deltas: two minutes for five files of
 * 50 MB that do not resemble each other. Deltas that are stored already are kept.
 */
const compareUpTo = (mebibytes: number): [string, string] => ['core.bigFileThreshold', String(mebibytes * 1024 ** 2)]

/** Larger files are sent as they are stored, and read piece by piece: a search would exceed a process's limits. */
export const boundedPack: [string, string][] = [compareUpTo(4)]

/**
 * For packs that only other servers of ours get. For text, two comparisons save all but 1–4 % of what ten do; none would
 * double a repository and send saves whole.
 */
export const cheapPack: [string, string][] = [compareUpTo(1), ['pack.window', '2']]
