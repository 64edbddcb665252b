import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { makeToken } from '@svc/contract/token-format'
import { makeKeyring } from '../keyring/keyring.ts'
import { canaries, encodingsOfACanary } from './testing-canaries.ts'
import { RedactedLines } from './lines.ts'
import { Redaction } from './redaction.ts'
import { watchedKeyring } from './watched-keyring.ts'

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
      // To its last character, in whatever encoding.
      expect(redactor.text(`TOKEN=${text} `)).toBe('TOKEN=[redacted svc_pat_ token] ')
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

  test('of a replaced value lasts until the last of several sandboxes has ended', () => {
    const redaction = new Redaction()
    redaction.learn(project, 1, { A: 'first-value' })
    for (const sandbox of ['s', 't']) redaction.sandboxBegins(project, sandbox, {})
    redaction.learn(project, 2, {})
    const said = () => redaction.of(project).text('first-value')
    redaction.sandboxEnds('s')
    redaction.sandboxEnds('one that never began')
    expect(said()).toBe('[redacted A]')
    redaction.sandboxEnds('t')
    expect(said()).toBe('first-value')
  })

  test('of the credential of a git host follows the newest that was opened', () => {
    const redaction = new Redaction({ UNSET: null })
    const said = () => redaction.of(project).text('old-credential new-credential')
    redaction.learnCredential(project, 'old-credential')
    expect(said()).toBe('[redacted git credential] new-credential')
    redaction.learnCredential(project, 'new-credential')
    expect(said()).toBe('old-credential [redacted git credential]')
  })

  test('of what the keyring opens holds the credentials of git hosts, and of a key to one the key alone', () => {
    const redaction = new Redaction()
    const keyring = watchedKeyring(makeKeyring(randomBytes(32)), redaction)
    const dataKey = keyring.newDataKey(project)
    const open = (aad: string[], value: string) =>
      keyring.open({
        projectId: project,
        dataKey,
        aad,
        sealed: keyring.seal({ projectId: project, dataKey, aad, value }),
      })
    const said = (text: string) => redaction.of(project).text(text)
    open(['git_token'], '{"token":"looks like a key"}')
    open(['secret', 'git_token'], 'no-credential')
    expect(said('no-credential {"token":"looks like a key"}')).toBe('no-credential [redacted git credential]')
    open(['git_token'], JSON.stringify({ ssh_key: canaries.PEM, known_hosts: 'git.example.test ssh-ed25519' }))
    expect(said(`${canaries.PEM} git.example.test`)).toBe('[redacted git credential] git.example.test')
    open(['git_token'], 'a-plain-token')
    expect(said('a-plain-token')).toBe('[redacted git credential]')
  })

  test('of a project is forgotten when many others came since, unless one of its sandboxes runs', () => {
    const redaction = new Redaction()
    const learn = (id: string) => redaction.learn(id, 1, { A: `value-of-${id}` })
    const said = (id: string) => redaction.of(id).text(`value-of-${id}`)
    for (const id of ['running', 'idle']) learn(id)
    redaction.sandboxBegins('running', 's', {})
    for (let count = 0; count < 499; count++) learn(`other-${count}`)
    expect(['running', 'idle', 'other-0'].map(said)).toEqual(['[redacted A]', 'value-of-idle', '[redacted A]'])
    // Where a sandbox of each of them runs, the newest is kept all the same.
    for (let count = 0; count < 499; count++) redaction.sandboxBegins(`other-${count}`, `s-${count}`, {})
    for (const id of ['one more', 'and another']) learn(id)
    expect(['other-0', 'and another'].map(said)).toEqual(['[redacted A]', '[redacted A]'])
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

test('of an encoded value everything is taken out, of a very long one or of very many the beginning', () => {
  const value = (chars: number) => randomBytes(chars / 2).toString('hex')
  const hex = (text: string) => Buffer.from(text).toString('hex')
  const [long, tooLong] = [value(4096), value(4098)]
  const redactor = of({ LONG: long, TOO_LONG: tooLong })
  expect(redactor.text(hex(long))).toBe('[redacted LONG]')
  expect(redactor.text(tooLong)).toBe('[redacted TOO_LONG]')
  expect(redactor.text(hex(tooLong))).toBe(`[redacted TOO_LONG]${hex(tooLong).slice(256)}`)
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`M${index}`, value(4000)]))
  expect(of(many).text(hex(many.M7!))).toBe(`[redacted M7]${hex(many.M7!).slice(256)}`)
})

describe('lines of a program', () => {
  const [one, two] = ['c2VjcmV0LW9mLXRo', 'ZS1wcm9qZWN0']
  const said = (text: string, stream = 'run', at = '10:00') => ({ at, stream, text })
  const begin = () => {
    const redaction = new Redaction()
    redaction.learn(project, 1, { A: 'secret-of-the-project' })
    return { redaction, lines: new RedactedLines(redaction.of(project)) }
  }

  test('hold no secret that is spread over two of them, and those of another stream do not wait for it', () => {
    const { lines } = begin()
    expect(lines.isHolding).toBe(false)
    expect(lines.take([said('begin'), said(one)])).toEqual([said('begin')])
    expect(lines.isHolding).toBe(true)
    expect(lines.take([said('meanwhile', 'build')])).toEqual([said('meanwhile', 'build')])
    expect(lines.take([said(two, 'run', '10:01'), said('end', 'run', '10:01')])).toEqual([
      said('[redacted A]', 'run', '10:01'),
      said('end', 'run', '10:01'),
    ])
  })

  test('that wait for what follows are told when nothing does, as the lines they were', () => {
    const { lines } = begin()
    expect(lines.take([said('one\n'), said(''), said(one)])).toEqual([said('one'), said(''), said('')])
    expect(lines.rest()).toEqual([said(one)])
    expect(lines.isHolding).toBe(false)
    expect(lines.rest()).toEqual([])
    // Whatever comes later begins anew.
    expect(lines.take([said(two)])).toEqual([said(two)])
    expect(lines.rest()).toEqual([])
  })

  test('are without a secret that was set while they came, and what waited for the old ones is told first', () => {
    const { redaction, lines } = begin()
    expect(lines.take([said(one)])).toEqual([])
    redaction.learn(project, 2, { B: 'another-secret' })
    expect(lines.take([said('x another-secret', 'run', '10:01')])).toEqual([
      said(one),
      said('x [redacted B]', 'run', '10:01'),
    ])
  })
})
