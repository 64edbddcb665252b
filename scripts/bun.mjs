// Runs Bun, which comes with npm's packages, with the arguments given. Plain Node: it works before anything is built.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Without npm's install scripts `bun/bin/bun.exe` is only a placeholder, so the platform's own package is asked first. */
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
    process.exitCode = spawnSync(bun, process.argv.slice(2), { stdio: 'inherit' }).status ?? 1
  }
}
