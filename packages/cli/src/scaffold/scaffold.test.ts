import { describe, expect, test } from 'bun:test'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseManifest } from '@svc/contract/manifest/manifest'
import { svc, temporaryFolder } from '../testing.ts'

interface Made {
  folder: string
  created: string[]
  kept: string[]
  wired: { agent: string; path: string; done: boolean }[]
}
const everyFile = [
  '.svc/.gitignore',
  '.svc/Dockerfile',
  '.svc/runtime/agents/build.md',
  '.svc/runtime/skills/svc/SKILL.md',
  '.svc/runtime/tools/open-changes.js',
  'svc.toml',
]
const filesOf = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.includes('.git/'))
    .toSorted()

describe('svc init', () => {
  test('svc init writes a project with a valid manifest and no link file', async () => {
    await using folder = await temporaryFolder()
    const ran = await svc(['init', '--name', 'A "quoted" name'], { cwd: folder.path })
    expect({ code: ran.code, stderr: ran.stderr }).toMatchObject({ code: 0 })
    expect(await filesOf(folder.path)).toEqual(everyFile)
    for (const path of everyFile) expect(ran.stdout).toContain(path)
    expect(ran.stderr).toContain('svc ship')
    const { manifest, issues } = parseManifest(await readFile(join(folder.path, 'svc.toml'), 'utf8'))
    expect([issues, manifest.project.name]).toEqual([[], 'A "quoted" name'])
    // The commented-out parts are valid, too.
    const all = (await readFile(join(folder.path, 'svc.toml'), 'utf8')).replace(/^# (?=\[|\w+ = )/gm, '')
    expect(parseManifest(all).issues).toEqual([])
  })

  test('svc init never overwrites a file, and a second run changes nothing', async () => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'svc.toml'), '# mine\n')
    const first = (await svc(['init', '--json'], { cwd: folder.path })).json<Made>()
    expect([first.kept, first.created.length]).toEqual([['svc.toml'], everyFile.length - 1])
    const second = (await svc(['init', '--json'], { cwd: folder.path })).json<Made>()
    expect([second.created, second.kept.toSorted()]).toEqual([[], everyFile])
    expect(await readFile(join(folder.path, 'svc.toml'), 'utf8')).toBe('# mine\n')
  })

  test('svc init writes to the root of the repository', async () => {
    await using folder = await temporaryFolder()
    Bun.spawnSync(['git', 'init', '--quiet', folder.path])
    await mkdir(join(folder.path, 'deep/er'), { recursive: true })
    await svc(['init'], { cwd: join(folder.path, 'deep/er') })
    expect(await filesOf(folder.path)).toEqual(everyFile)
  })

  test('svc init does not write through symbolic links in the repository', async () => {
    await using folder = await temporaryFolder()
    await using elsewhere = await temporaryFolder()
    await symlink(elsewhere.path, join(folder.path, '.svc'))
    const { code, stderr } = await svc(['init'], { cwd: folder.path })
    expect([code, stderr]).toEqual([1, expect.stringContaining('.svc is not a folder')])
    expect(await readdir(elsewhere.path)).toEqual([])
  })

  test('svc init installs the skill for each coding agent once and keeps existing files', async () => {
    await using folder = await temporaryFolder()
    await using home = await temporaryFolder()
    await mkdir(join(home.path, '.claude'))
    await mkdir(join(folder.path, '.opencode'))
    await writeFile(join(folder.path, 'AGENTS.md'), '# Mine')
    const options = { cwd: folder.path, env: { HOME: home.path } }
    const first = (await svc(['init', '--json'], options)).json<Made>()
    expect(first.wired.map(({ path, done }) => [path, done])).toEqual([
      ['.claude/skills/svc/SKILL.md', true],
      ['.opencode/skills/svc/SKILL.md', true],
      ['AGENTS.md', true],
    ])
    const text = await readFile(join(folder.path, 'AGENTS.md'), 'utf8')
    expect(text).toStartWith('# Mine\n\n## svc\n')
    expect(await readFile(join(folder.path, '.claude/skills/svc/SKILL.md'), 'utf8')).toStartWith('---\nname: svc\n')
    const second = (await svc(['init', '--json'], options)).json<Made>()
    expect(second.wired.map(({ done }) => done)).toEqual([false, false, false])
    expect(await readFile(join(folder.path, 'AGENTS.md'), 'utf8')).toBe(text)
    // Nothing in the home directory changes.
    expect(await filesOf(home.path)).toEqual([])
  })

  test('svc init asks on a terminal and respects no', async () => {
    await using folder = await temporaryFolder()
    await mkdir(join(folder.path, '.claude'))
    const options = { cwd: folder.path, terminal: true, types: [{ after: /Claude Code is used here/, keys: 'n' }] }
    expect((await svc(['init'], options)).code).toBe(0)
    expect(await filesOf(folder.path)).toEqual(everyFile)
    expect((await svc(['init', '--no-wire'], { cwd: folder.path, terminal: true })).code).toBe(0)
    expect(await readdir(join(folder.path, '.claude'))).toEqual([])
  })
})

describe('svc <project-name>', () => {
  test('svc <project-name> creates a repository in a new folder', async () => {
    await using folder = await temporaryFolder()
    const ran = await svc(['my-app', '--yes'], { cwd: folder.path })
    expect(ran.code).toBe(0)
    expect(await filesOf(join(folder.path, 'my-app'))).toEqual(everyFile)
    expect(await readFile(join(folder.path, 'my-app/.git/HEAD'), 'utf8')).toBe('ref: refs/heads/main\n')
    const again = await svc(['my-app', '--yes'], { cwd: folder.path })
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already exists')])
  })

  test('svc <project-name> run in a repository creates the folder beside it', async () => {
    await using folder = await temporaryFolder()
    const inside = join(folder.path, 'first')
    await mkdir(inside)
    Bun.spawnSync(['git', 'init', '--quiet', inside])
    expect((await svc(['second', '--yes'], { cwd: inside })).code).toBe(0)
    expect(await filesOf(join(folder.path, 'second'))).toEqual(everyFile)
  })

  test('svc <project-name> is an unknown command with a suggestion without a terminal and --yes', async () => {
    await using folder = await temporaryFolder()
    const { code, problem } = await svc(['sesions', '--json'], { cwd: folder.path })
    expect(code).toBe(2)
    expect(problem()).toMatchObject({
      error: 'Unknown command "sesions". Did you mean svc sessions?',
      next: ['svc sessions --json', 'svc --help'],
    })
    expect(await readdir(folder.path)).toEqual([])
  })

  test('svc <project-name> asks first on a terminal', async () => {
    await using folder = await temporaryFolder()
    const ask = /my-app is not a command\. Create a new project in/
    const no = await svc(['my-app'], { cwd: folder.path, terminal: true, types: [{ after: ask, keys: 'n' }] })
    expect([no.code, await readdir(folder.path)]).toEqual([2, []])
    const yes = await svc(['my-app'], { cwd: folder.path, terminal: true, types: [{ after: ask, keys: 'y' }] })
    expect([yes.code, await readdir(folder.path)]).toEqual([0, ['my-app']])
  })

  test.each(['frobnicate --title x', 'frobnicate now', '../up', '-x', 'frobnicate --help'])(
    'svc %s creates no project',
    async (line) => {
      await using folder = await temporaryFolder()
      expect((await svc(line.split(' '), { cwd: folder.path, terminal: true })).code).toBe(2)
      expect(await readdir(folder.path)).toEqual([])
    },
  )
})
