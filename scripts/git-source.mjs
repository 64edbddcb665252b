// Fetches Debian's source package of git and the files its tests need. Kept in the user's cache folder.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { availableParallelism, homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { aside, findProgram, runQuietly, step } from './console.mjs'

/** Builds the test harness only. The tests run the installed git, so skip what a full build would add. */
const leftOut = ['NO_OPENSSL', 'NO_GETTEXT', 'NO_EXPAT', 'NO_PYTHON', 'NO_TCLTK']
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** Returns the version and the folder of a source tree that is ready to run tests. */
export async function fetchGitSource() {
  if (findProgram('apt-get') === null || findProgram('dpkg-query') === null)
    throw new Error("This runs on Debian only: git's own tests come from Debian's source package of git.")
  const wanted = ask('dpkg-query', ['-W', '-f=${source:Version}', 'git'])
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc/git-suite')
  const dir = join(cache, (wanted || 'newest').replaceAll(/[^\w.+-]/g, '_'))
  if (!existsSync(dir)) {
    await ensureTools()
    await aside(cache, async (room) => {
      await step('Fetching the source of git', () => download(room, wanted))
      await step("Building what git's tests need, a few minutes", () => build(join(room, 'git')))
      renameSync(room, dir)
    })
  }
  const description = readdirSync(dir).find((name) => name.endsWith('.dsc'))
  return { dir: join(dir, 'git'), cache: dir, version: description.replace(/^git_(.*)\.dsc$/, '$1') }
}

/** One of several repositories may be unreachable; the next step finds out whether the source arrived. */
function ignoreUnreachable() {}

/** Uses its own source list: most machines list no source packages, and their list must not change. */
async function download(room, version) {
  const apt = aptOptions(room)
  await runQuietly('apt-get', [...apt, 'update'], { timeout: 300_000 }).catch(ignoreUnreachable)
  const found = ask('apt-cache', [...apt, 'showsrc', 'git'])
  const versions = [...found.matchAll(/^Version: (.*)$/gm)].map(([, one]) => one)
  if (versions.length === 0) throw new Error('apt found no source package of git.')
  const name = versions.includes(version) ? `git=${version}` : 'git'
  await runQuietly('apt-get', [...apt, 'source', '--download-only', name], { cwd: room, timeout: 300_000 })
  const description = readdirSync(room).find((file) => file.endsWith('.dsc'))
  await runQuietly('dpkg-source', ['-x', description, 'git'], { cwd: room, timeout: 120_000 })
}

function aptOptions(room) {
  const listed = ask('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)',
    'Created-By: Packages',
  ])
  const signed = existsSync(keyring) ? `[signed-by=${keyring}] ` : ''
  const places = listed.split('\n').filter((line) => line.endsWith(' Debian'))
  if (places.length === 0) throw new Error('apt lists no Debian repository here. Run apt-get update first.')
  const lines = places.flatMap((place) => {
    const where = `${signed}${place.replace(/ Debian$/, '')}`
    return [`deb ${where}\n`, `deb-src ${where}\n`]
  })
  const list = join(room, 'sources.list')
  writeFileSync(list, [...new Set(lines)].join(''))
  for (const folder of ['lists/partial', 'apt/archives/partial']) mkdirSync(join(room, folder), { recursive: true })
  const settings = {
    'Dir::Etc::SourceList': list,
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State::Lists': join(room, 'lists'),
    'Dir::Cache': join(room, 'apt'),
    // apt drops its privileges to a user who cannot write here.
    'APT::Sandbox::User': 'root',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
}

async function build(dir) {
  const make = (...args) => runQuietly('nice', ['make', `-j${availableParallelism()}`, ...args], { cwd: dir })
  await make('CFLAGS=-O0 -w', ...leftOut.map((name) => `${name}=1`), 'GIT-BUILD-OPTIONS', 't/helper/test-tool')
  await make('-C', 'templates', 'SHELL_PATH=/bin/sh', 'PERL_PATH=/usr/bin/perl')
}

/** Some tests need a terminal and check for it with perl. Without one they skip themselves. */
export async function unpackPty({ cache }) {
  if (spawnSync('perl', ['-MIO::Pty', '-e', '1']).status === 0) return null
  const folder = join(cache, 'pty')
  if (!existsSync(folder)) {
    try {
      await aside(cache, async (room) => {
        await runQuietly('apt-get', [...aptOptions(cache), 'download', 'libio-pty-perl'], { cwd: room })
        const [file] = readdirSync(room)
        await runQuietly('dpkg-deb', ['-x', join(room, file), join(room, 'files')])
        renameSync(join(room, 'files'), folder)
      })
    } catch (error) {
      console.error(`Without libio-pty-perl, tests of a terminal skip themselves: ${error.message.split('\n').at(-1)}`)
      return null
    }
  }
  const module = readdirSync(folder, { recursive: true }).find((path) => path.endsWith('IO/Pty.pm'))
  return module === undefined ? null : dirname(dirname(join(folder, module)))
}

const tools = { gcc: 'gcc', make: 'make', 'dpkg-source': 'dpkg-dev', perl: 'perl' }

async function ensureTools() {
  const missing = Object.keys(tools).filter((name) => findProgram(name) === null)
  const packages = missing.map((name) => tools[name])
  if (!existsSync('/usr/include/zlib.h')) packages.push('zlib1g-dev')
  if (packages.length === 0) return
  const command = ['apt-get', 'install', '-y', '--no-install-recommends', ...packages, 'libc6-dev']
  if (process.getuid() !== 0) throw new Error(`Missing on this machine. As root: ${command.join(' ')}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await step(`Installing ${packages.join(', ')}`, () => runQuietly(command[0], command.slice(1), { env }))
}

function ask(program, args) {
  const { stdout } = spawnSync(program, args, { maxBuffer: 64 * 1024 * 1024 })
  return stdout?.toString().trim() ?? ''
}
