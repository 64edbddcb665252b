export interface Limits {
  cpuSeconds: number
  memoryBytes: number
  fileBytes: number
}

let program: string | null | undefined

/**
 * Command prefix that sets limits. prlimit sets them and then becomes git, so the pid and group stay the same. It
 * costs 0.8 ms; setting limits on the running process would be cheaper, but would miss helpers that git has already
 * started. Without prlimit, only the time and output limits apply.
 */
export function limitingPrefix(limits: Limits): string[] {
  program ??= Bun.which('prlimit')
  if (!program) return []
  // One second apart, so that the kernel sends SIGXCPU first: with equal values it only kills.
  const cpu = `--cpu=${limits.cpuSeconds}:${limits.cpuSeconds + 1}`
  const flags = [cpu, `--data=${limits.memoryBytes}`, `--fsize=${limits.fileBytes}`]
  return [program, ...flags, '--core=0', '--']
}
