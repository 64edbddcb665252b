import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { makeToken } from '@svc/contract/token-format'
import { canaries, encodingsOfACanary } from './testing-canaries.ts'
import { Redaction } from './redaction.ts'

const project = 'p'
const of = (secrets: Record<string, string>) => {
  const redaction = new Redaction()
  redaction.learn(project, 1, secrets)
  return redaction.of(project)
}

describe('a value', () => {
  test.each(Object.entries(canaries))('%s is found in every encoding, alone and among others', (name, value) => {
    const redactor = of({ [name]: value })
    for (const [as, text] of encodingsOfACanary(value)) {
      for (const around of [text, `before ${text} after`, `${text}${text}`, `KEY='${text}'\n`]) {
        const said = redactor.text(around)
        expect(`${as}: ${said}`).toContain(`[redacted ${name}]`)
        // Of base64 the characters that its neighbours take part in may stay.
        expect(said.replaceAll(`[redacted ${name}]`, '')).not.toContain(text.slice(3, -3))
      }
    }
  })

  test('that is broken into lines by base64 and hex tools is found', () => {
    const value = canaries.UNICODE
    const wide = Buffer.from(`${'x'.repeat(50)}${value}${'y'.repeat(50)}`).toString('base64')
    const redactor = of({ A: value })
    for (const ending of ['\n', '\r\n']) {
      const lines = wide.replace(/.{20}/g, `$&${ending}`)
      const said = redactor.text(lines)
      expect(said).toContain('[redacted A]')
      expect(said.length).toBeLessThan(lines.length - value.length)
    }
  })

  test('of several lines is found line by line, indented, and with other line ends', () => {
    const redactor = of({ PEM: canaries.PEM })
    for (const text of [canaries.PEM.replaceAll('\n', '\r\n'), canaries.PEM.replaceAll('\n', '\n    ')]) {
      const said = redactor.text(text)
      for (const line of canaries.PEM.split('\n').filter((each) => each.length > 7 && !each.startsWith('-----')))
        expect(said).not.toContain(line)
    }
  })

  test('of fewer than eight characters is a word, and stays', () => {
    expect(of({ A: 'prod', B: '1234567' }).text('prod 1234567')).toBe('prod 1234567')
    expect(of({ A: '12345678' }).text('12345678')).toBe('[redacted A]')
  })

  test('that overlaps another leaves nothing of both, and the first names what is found', () => {
    expect(of({ A: 'abcdefgh', B: 'efghijkl', C: 'cdefghijklmnop' }).text('<abcdefghijklmnop>')).toBe('<[redacted A]>')
    expect(of({ A: 'aaaaaaaa' }).text('a'.repeat(99))).toBe('[redacted A]')
    expect(of({ A: 'abcdefgh', LONG: 'abcdefghij' }).text('abcdefghij')).toBe('[redacted LONG]')
  })
})

describe('tokens of ours', () => {
  test('are found without being known, in every encoding; what documents show of them is not one', () => {
    const token = makeToken((count) => randomBytes(count))
    const redactor = of({})
    for (const [, text] of encodingsOfACanary(token)) {
      const said = redactor.text(`TOKEN=${text} `)
      expect(said).toContain('[redacted svc_pat_ token]')
      expect(said).not.toContain(text.slice(12, 30))
    }
    expect(redactor.text('svc_pat_… and svc_pat_<token>')).toBe('svc_pat_… and svc_pat_<token>')
  })
})

describe('what is known', () => {
  test('changes at once, and an older look at the database changes nothing', () => {
    const redaction = new Redaction()
    const redactor = redaction.of(project)
    const said = () => redactor.text('first-value second-value')
    expect(said()).toBe('first-value second-value')
    redaction.learn(project, 1, { A: 'first-value' })
    expect(said()).toBe('[redacted A] second-value')
    redaction.learn(project, 3, { A: 'second-value' })
    redaction.learn(project, 2, {})
    expect(said()).toBe('first-value [redacted A]')
  })

  test('of a replaced value lasts as long as a sandbox that was given it', () => {
    const redaction = new Redaction()
    redaction.learn(project, 1, { A: 'first-value' })
    redaction.sandboxBegins(project, 's', { SVC_TOKEN: 'key-of-the-sandbox' })
    redaction.learn(project, 2, { A: 'second-value' })
    const said = () => redaction.of(project, 's').text('first-value second-value key-of-the-sandbox')
    expect(said()).toBe('[redacted A] [redacted A] [redacted SVC_TOKEN]')
    redaction.sandboxEnds('s')
    expect(said()).toBe('first-value [redacted A] key-of-the-sandbox')
  })

  test('of one project is not looked for in the words of another, but in the log', () => {
    const redaction = new Redaction({ UPSTREAM: 'operator-key' })
    redaction.learn(project, 1, { A: 'first-value' })
    expect(redaction.of('another').text('first-value operator-key')).toBe('first-value [redacted UPSTREAM]')
    expect(redaction.everything('first-value operator-key')).toBe('[redacted A] [redacted UPSTREAM]')
  })

  test('of a text that grows holds back what may become a secret', () => {
    const redaction = new Redaction()
    redaction.learn(project, 1, { A: 'first-value' })
    const redactor = redaction.of(project)
    expect(redactor.growing('it is first-val')).toBe('it is ')
    expect(redactor.growing('it is first-valx')).toBe('it is first-valx')
    expect(redactor.text('it is first-val')).toBe('it is first-val')
  })
})

test('the largest secrets there can be are looked for, and bounded in what they cost', () => {
  const large = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [`L${index}`, randomBytes(48 * 1024).toString('base64')]),
  )
  const redactor = of(large)
  expect(redactor.text(`a ${large.L3!} b`)).toBe('a [redacted L3] b')
})
