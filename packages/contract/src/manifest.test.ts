import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { emptyManifest, manifestBytesMax, parseManifest } from './manifest.ts'

const pathsOf = (text: string) => parseManifest(text).issues.map((issue) => issue.path)

describe('svc.toml', () => {
  test('that is empty or about other things is the empty manifest', () => {
    for (const text of ['', '\n', '# nothing\n', '[apps]\nx = 1\n', 'svc_version = 1\n[[triggers]]\nslug = "a"\n'])
      expect(parseManifest(text)).toEqual({ manifest: emptyManifest, issues: [] })
  })

  test('gives what it says', () => {
    const { manifest, issues } = parseManifest(
      '[env]\nrequired = ["A_KEY"]\noptional = ["B"]\n[runtime]\nconfig_dir = "agents"\nmodel = "svc/x"\n',
    )
    expect(manifest).toEqual({
      env: { required: ['A_KEY'], optional: ['B'] },
      runtime: { config_dir: 'agents', model: 'svc/x' },
      sandbox: {},
    })
    expect(issues).toEqual([])
  })

  test('with one broken table keeps the others', () => {
    const { manifest, issues } = parseManifest('[env]\nrequired = "A"\n[runtime]\nconfig_dir = "agents"\n')
    expect(manifest.runtime.config_dir).toBe('agents')
    expect(manifest.env).toEqual({ required: [], optional: [] })
    expect(issues).toMatchObject([{ path: 'env.required', severity: 'error' }])
  })

  test('that is not TOML says where', () => {
    const { manifest, issues } = parseManifest('[env]\nrequired = [\n')
    expect(manifest).toEqual(emptyManifest)
    expect(issues).toHaveLength(1)
    expect(issues[0]!.line).toBeGreaterThan(0)
    expect(issues[0]!.column).toBeGreaterThan(0)
    expect(issues[0]!.message).not.toContain('\n')
  })

  test.each([
    ['..', '[runtime]\nconfig_dir = ".."', 'runtime.config_dir'],
    ['a way out', '[runtime]\nconfig_dir = "a/../../etc"', 'runtime.config_dir'],
    ['an absolute folder', '[runtime]\nconfig_dir = "/etc"', 'runtime.config_dir'],
    ['an option', '[runtime]\nconfig_dir = "--upload-pack=x"', 'runtime.config_dir'],
    ['an empty folder', '[runtime]\nconfig_dir = ""', 'runtime.config_dir'],
    ['a newline in a folder', '[runtime]\nconfig_dir = "a\\nb"', 'runtime.config_dir'],
    ['a number for a folder', '[runtime]\nconfig_dir = 1', 'runtime.config_dir'],
    ['a long model', `[runtime]\nmodel = "${'m'.repeat(201)}"`, 'runtime.model'],
    ['a table that is a list', 'runtime = []', 'runtime'],
    ['a table that is text', 'env = "A"', 'env'],
    ['a name that is none', '[env]\nrequired = ["A B"]', 'env.required.0'],
    ['a number among names', '[env]\noptional = [1]', 'env.optional.0'],
  ])('with %s has an issue there', (_, text, path) => {
    expect(pathsOf(text)).toContain(path)
    expect(parseManifest(text).manifest.runtime.config_dir).toBe(emptyManifest.runtime.config_dir)
  })

  test('that asks for a name of the platform gets a warning and keeps working', () => {
    const { manifest, issues } = parseManifest('[env]\nrequired = ["SVC_TOKEN", "A"]\n')
    expect(issues).toMatchObject([{ path: 'env.SVC_TOKEN', severity: 'warning' }])
    expect(manifest.env.required).toContain('A')
  })

  test('larger than 256 KiB is not read', () => {
    const text = `# ${'x'.repeat(manifestBytesMax)}\n[runtime]\nconfig_dir = "agents"\n`
    expect(parseManifest(text)).toMatchObject({
      manifest: emptyManifest,
      issues: [{ message: 'is larger than 256 KiB' }],
    })
  })

  test('is never a crash, and never changes an object of ours', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '[env]',
        '[runtime]',
        'required = [',
        ']',
        'config_dir = "x"',
        '[[env]]',
        'a.b.c = 1',
        '"""',
        "'''",
      ),
      fc.constantFrom(
        '[__proto__]',
        '__proto__ = {polluted = 1}',
        '[constructor.prototype]',
        'polluted = true',
        '\u{feff}',
      ),
      fc.constantFrom(
        'x = 0x',
        'x = 1979-99-99',
        'x = inf',
        'x = {',
        `x = ${'['.repeat(2_000)}`,
        `${'a.'.repeat(500)}a = 1`,
      ),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        const { manifest, issues } = parseManifest(lines.join('\n'))
        expect(Array.isArray(manifest.env.required)).toBeTrue()
        expect(typeof manifest.runtime.config_dir).toBe('string')
        for (const issue of issues) expect(typeof issue.message).toBe('string')
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      }),
      { numRuns: 500 },
    )
    expect(emptyManifest).toEqual({
      env: { required: [], optional: [] },
      runtime: { config_dir: '.svc/runtime' },
      sandbox: {},
    })
  })
})
