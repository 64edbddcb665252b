import { readdirSync, readFileSync } from 'node:fs'

/** The processes below `pid` whose command contains `text`. */
export function below(pid: number, text: string): number[] {
  const found: number[] = []
  const parents = [pid]
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  for (const parent of parents)
    for (const name of all) {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        if (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] !== String(parent)) continue
        parents.push(Number(name))
        if (readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(text)) found.push(Number(name))
      } catch {
        hasEnded()
      }
    }
  return found
}

function hasEnded(): void {}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
