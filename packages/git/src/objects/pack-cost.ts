/**
 * For packs that only other servers of ours get. Before its first byte, git compares each file with ten others to find
 * deltas: two minutes for five files of 50 MB that do not resemble each other. Deltas that are stored already are kept.
 */
export const cheapPack: [string, string][] = [
  // Larger files are sent as they are stored, and read piece by piece.
  ['core.bigFileThreshold', String(1024 ** 2)],
  // For text, two comparisons save all but 1–4 % of what ten do; none would double a repository and send saves whole.
  ['pack.window', '2'],
]
