// Runs the Bun from npm with the given arguments. Plain Node, so it works before anything is built.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The longest a test may take. Bun's own limit is 5 s, and bunfig.toml cannot set one for all files. */
export const testMsMax = 120_000

/** Without npm's install scripts `bun/bin/bun.exe` is a placeholder, so look in the platform's package first. */
export function findBun() {
  const root = new URL('../node_modules/', import.meta.url)
  const platform = `bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`
  for (const name of [platform, `${platform}-baseline`, `${platform}-musl`]) {
    const path = fileURLToPath(new URL(`@oven/${name}/bin/bun`, root))
    if (existsSync(path)) return path
  }
  return null
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bun = findBun()
  if (bun === null) {
    console.error('Bun is not installed here. Run `npm install` in this folder first.')
    process.exitCode = 1
  } else {
    const [command, ...rest] = process.argv.slice(2)
    const isTest = command === 'test' && !rest.some((word) => word.startsWith('--timeout'))
    const words = isTest ? [command, `--timeout=${testMsMax}`, ...rest] : process.argv.slice(2)
    process.exitCode = spawnSync(bun, words, { stdio: 'inherit' }).status ?? 1
  }
}
