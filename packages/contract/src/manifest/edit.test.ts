import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ManifestEditError, setTriggerEnabled } from './edit.ts'
import { parseManifest } from './manifest.ts'

const entry = (slug: string, more = '') =>
  `[[triggers]]\nslug = "${slug}"\n${more}type = "cron"\ncron = "0 3 * * *"\nprompt = "Go."\n`
const enabledOf = (text: string) =>
  Object.fromEntries(parseManifest(text).manifest.triggers.map((trigger) => [trigger.slug, trigger.enabled]))

describe('enabling and disabling a trigger in svc.toml', () => {
  test('changes only the value of an existing enabled key', () => {
    const text = `# head\n${entry('a', 'enabled   =  true   # why\n')}\n# tail\n${entry('b')}# end`
    expect(setTriggerEnabled(text, 'a', false)).toBe(text.replace('true   # why', 'false   # why'))
  })

  test('adds one line below the slug when the entry has no enabled key', () => {
    const text = `${entry('a')}\n  [[triggers]] # indented\n  slug = "b" # the second\r\n  type = "cron"\n  cron = "0 3 * * *"\n  prompt = "Go."\n`
    const edited = setTriggerEnabled(text, 'b', false)
    expect(edited).toBe(text.replace('# the second\r\n', '# the second\r\n  enabled = false\r\n'))
    expect(enabledOf(edited)).toEqual({ a: true, b: false })
  })

  test('leaves an entry unchanged that already has the wanted state', () => {
    for (const text of [entry('a'), entry('a', 'enabled = true\n')])
      expect(setTriggerEnabled(text, 'a', true)).toBe(text)
  })

  test('edits inline entries, and files without a final newline', () => {
    const inline = 'triggers = [{slug="a", type="cron", cron="0 3 * * *", prompt="Go."}]'
    const edited = setTriggerEnabled(inline, 'a', false)
    expect(edited).toBe(inline.replace('slug="a"', 'slug="a", enabled = false'))
    expect(enabledOf(edited)).toEqual({ a: false })
    const last = `[[triggers]]\ntype = "cron"\ncron = "0 3 * * *"\nprompt = "Go."\nslug = "a"`
    expect(enabledOf(setTriggerEnabled(last, 'a', false))).toEqual({ a: false })
  })

  test('handles escaped keys and slugs, and ignores strings that look like entries', () => {
    const text = `x = """\n[[triggers]]\nslug = "a"\n"""\n[[triggers]]\n"sl\\u0075g" = "\\u0061"\ntype = "cron"\ncron = "0 3 * * *"\nprompt = '''\nenabled = true\n'''\n`
    const edited = setTriggerEnabled(text, 'a', false)
    expect(edited).toBe(text.replace('"\\u0061"\n', '"\\u0061"\nenabled = false\n'))
  })

  test('refuses to edit a trigger that does not exist', () => {
    expect(() => setTriggerEnabled(entry('a'), 'b', true)).toThrow(ManifestEditError)
  })

  test('disabling and enabling a trigger restores the same text, whatever surrounds it', () => {
    const junk = fc.constantFrom(
      '',
      '# comment\n',
      '\n\n',
      '[env]\nrequired = ["A"] # x\n',
      '[[apps]]\nslug = "s"\ncommand = "x"\n',
    )
    const words = fc.constantFrom('enabled = true\n', 'enabled = true # "x" \n', 'model = "a"\nenabled=true\n')
    fc.assert(
      fc.property(fc.array(fc.tuple(junk, words), { minLength: 1, maxLength: 5 }), (parts) => {
        const seen = new Set<string>()
        const text = parts
          .map(
            ([before, word], index) =>
              (seen.has(before) ? '' : (before.startsWith('[') && seen.add(before), before)) + entry(`t${index}`, word),
          )
          .join('')
        const slug = `t${parts.length - 1}`
        const off = setTriggerEnabled(text, slug, false)
        expect(enabledOf(off)).toEqual({ ...enabledOf(text), [slug]: false })
        expect(setTriggerEnabled(off, slug, true)).toBe(text)
      }),
      { numRuns: 200 },
    )
  })
})
