import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { makeToken } from '@svc/contract/schemas/token-format'
import { makeKeyring } from '../keyring/keyring.ts'
import { canaries, encodingsOfACanary } from './testing-canaries.ts'
import { type LogPosition, RedactedLines } from './lines.ts'
import { Redaction } from './redaction.ts'
import { watchedKeyring } from './watched-keyring.ts'

const project = 'p'
const of = (secrets: Record<string, string>) => {
  const redaction = new Redaction()
  redaction.given('s', Object.entries(secrets))
  return redaction.of('s')
}

describe('redacting values', () => {
  test.each(Object.entries(canaries))('finds %s in every encoding, alone and with neighbors', (name, value) => {
    const redactor = of({ [name]: value })
    for (const [as, text] of encodingsOfACanary(value)) {
      for (const around of [text, `before ${text} after`, `${text}${text}`, `KEY='${text}'\n`]) {
        const said = redactor.text(around)
        expect(`${as}: ${said}`).toContain(`[redacted ${name}]`)
        // Base64 characters that also encode a neighbor may remain.
        expect(said.replaceAll(`[redacted ${name}]`, '')).not.toContain(text.slice(3, -3))
      }
    }
  })

  test('finds a value that base64 and hex tools broke into lines', () => {
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

  test('finds a value of several lines line by line, indented, and with other line breaks', () => {
    const redactor = of({ PEM: canaries.PEM })
    for (const text of [canaries.PEM.replaceAll('\n', '\r\n'), canaries.PEM.replaceAll('\n', '\n    ')]) {
      const said = redactor.text(text)
      for (const line of canaries.PEM.split('\n').filter((each) => each.length > 7 && !each.startsWith('-----')))
        expect(said).not.toContain(line)
    }
  })

  test('keeps a value of fewer than eight characters', () => {
    expect(of({ A: 'prod', B: '1234567' }).text('prod 1234567')).toBe('prod 1234567')
    expect(of({ A: '12345678' }).text('12345678')).toBe('[redacted A]')
  })

  test('removes overlapping values completely, under the name of the first', () => {
    expect(of({ A: 'abcdefgh', B: 'efghijkl', C: 'cdefghijklmnop' }).text('<abcdefghijklmnop>')).toBe('<[redacted A]>')
    expect(of({ A: 'aaaaaaaa' }).text('a'.repeat(99))).toBe('[redacted A]')
    expect(of({ A: 'abcdefgh', LONG: 'abcdefghij' }).text('abcdefghij')).toBe('[redacted LONG]')
  })
})

describe('redacting tokens of the service', () => {
  test('finds unknown tokens in every encoding, but not the examples in documents', () => {
    const token = makeToken((count) => randomBytes(count))
    const redactor = of({})
    for (const [, text] of encodingsOfACanary(token)) {
      // Up to its last character, in any encoding.
      expect(redactor.text(`TOKEN=${text} `)).toBe('TOKEN=[redacted svc_pat_ token] ')
    }
    expect(redactor.text('svc_pat_… and svc_pat_<token>')).toBe('svc_pat_… and svc_pat_<token>')
  })
})

describe('values of a session', () => {
  test('knows what its sandboxes got in every generation, and no other values of the project', () => {
    const redaction = new Redaction({ UPSTREAM: 'operator-key' })
    redaction.learn(project, 1, { A: 'first-value', B: 'never-given' })
    redaction.learnCredential(project, 'git-credential')
    redaction.given('another', [['A', 'of-another']])
    const said = () =>
      redaction.of('s').text('first-value second-value never-given git-credential operator-key of-another')
    expect(said()).toBe('first-value second-value never-given git-credential operator-key of-another')
    redaction.given('s', [['A', 'first-value']])
    redaction.learn(project, 2, { A: 'second-value' })
    expect(said()).toBe('[redacted A] second-value never-given git-credential operator-key of-another')
    redaction.given('s', [['A', 'second-value']])
    expect(said()).toBe('[redacted A] [redacted A] never-given git-credential operator-key of-another')
  })

  test('knows the keys of its sandboxes, also after they ended', () => {
    const redaction = new Redaction()
    redaction.sandboxBegins('s', 'one', { SVC_TOKEN: 'key-of-the-first' })
    redaction.sandboxEnds('one')
    redaction.sandboxEnds('one that never began')
    redaction.sandboxBegins('s', 'two', { SVC_TOKEN: 'key-of-the-next' })
    expect(redaction.of('s').text('key-of-the-first key-of-the-next')).toBe('[redacted SVC_TOKEN] [redacted SVC_TOKEN]')
    expect(redaction.of('t').text('key-of-the-first')).toBe('key-of-the-first')
  })

  test('shares a redactor among sessions with the same values', () => {
    const redaction = new Redaction()
    for (const id of ['s', 't']) redaction.given(id, [['A', 'first-value']])
    expect(redaction.of('s').state).toBe(redaction.of('t').state)
    redaction.given('t', [['B', 'first-value']])
    expect(redaction.of('s').state).toBe(redaction.of('t').state)
    redaction.given('t', [
      ['A', 'short'],
      ['B', 'second-value'],
    ])
    expect(redaction.of('s').state).not.toBe(redaction.of('t').state)
  })

  test('forgets a session without a sandbox after many others', () => {
    const redaction = new Redaction()
    const give = (id: string) => redaction.given(id, [['A', `value-of-${id}`]])
    const said = (id: string) => redaction.of(id).text(`value-of-${id}`)
    for (const id of ['running', 'idle']) give(id)
    redaction.sandboxBegins('running', 'sandbox', {})
    for (let count = 0; count < 1999; count++) give(`other-${count}`)
    expect(['running', 'idle', 'other-1998'].map(said)).toEqual(['[redacted A]', 'value-of-idle', '[redacted A]'])
  })
})

describe('values of a project', () => {
  test('redacts all values of a project, current and earlier, in the log and in replies to people', () => {
    const redaction = new Redaction({ UPSTREAM: 'operator-key', UNSET: null })
    redaction.learn(project, 3, { A: 'second-value' })
    redaction.learn(project, 2, {})
    redaction.given('s', [['A', 'first-value']])
    redaction.learnCredential(project, 'git-credential')
    expect(redaction.everything('first-value second-value git-credential operator-key')).toBe(
      '[redacted A] [redacted A] [redacted git credential] [redacted UPSTREAM]',
    )
    expect(redaction.ofProject(project).text('first-value second-value git-credential operator-key')).toBe(
      'first-value [redacted A] git-credential operator-key',
    )
    expect(redaction.ofProject('another').text('second-value')).toBe('second-value')
  })

  test('follows the newest credential of a git host, and redacts only the key part of a private key', () => {
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
    const said = (text: string) => redaction.everything(text)
    open(['git_token'], '{"token":"looks like a key"}')
    open(['secret', 'git_token'], 'no-credential')
    expect(said('no-credential {"token":"looks like a key"}')).toBe('no-credential [redacted git credential]')
    open(['git_token'], JSON.stringify({ ssh_key: canaries.PEM, known_hosts: 'git.example.test ssh-ed25519' }))
    expect(said(`${canaries.PEM} git.example.test`)).toBe('[redacted git credential] git.example.test')
    open(['git_token'], 'a-plain-token')
    expect(said('a-plain-token')).toBe('[redacted git credential]')
    open(['git_token'], 'another-token')
    expect(said('a-plain-token another-token')).toBe('a-plain-token [redacted git credential]')
  })

  test('forgets a project after many others', () => {
    const redaction = new Redaction()
    const learn = (id: string) => redaction.learn(id, 1, { A: `value-of-${id}` })
    learn('idle')
    for (let count = 0; count < 500; count++) learn(`other-${count}`)
    expect(redaction.everything('value-of-idle value-of-other-0')).toBe('value-of-idle [redacted A]')
  })
})

describe('redacting a text while it is written', () => {
  const value = 'a-value-of-the-session'
  const begin = () => {
    const redaction = new Redaction()
    redaction.given('s', [['A', value]])
    const redactor = redaction.of('s')
    return (text: string, isQuiet = false, released = 0) => redactor.growing(text, { released, isQuiet })
  }

  test('shows the text up to a fixed distance from its end, whatever the end has', () => {
    const grow = begin()
    for (const end of [value, value.slice(0, -1), 'x'.repeat(22), ' '.repeat(22)]) {
      const text = `${'word '.repeat(60)}${end}`
      expect(grow(text)).toEqual({ text: text.slice(0, -160), released: text.length - 160 })
    }
    expect(grow('short')).toEqual({ text: '', released: 0 })
  })

  test('shows a quiet text up to its last word', () => {
    const grow = begin()
    expect(grow(`it is ${value.slice(0, 9)}`, true).text).toBe('it is ')
    expect(grow(`it is ${value} and`, true).text).toBe('it is [redacted A] ')
    expect(grow('x'.repeat(200), true).text).toBe('x'.repeat(40))
  })

  test('takes back no shown text, except a value that came in two halves', () => {
    const grow = begin()
    expect(grow('one two three', false, 8)).toEqual({ text: 'one two ', released: 8 })
    const half = value.slice(0, 5)
    expect(grow(`one ${half}`, false, 9).text).toBe(`one ${half}`)
    expect(grow(`one ${value}`, false, 9).text).toBe('one [redacted A]')
  })

  test('does not split a surrogate pair', () => {
    const grow = begin()
    expect(grow(`${'🔑'.repeat(100)}x`).text).toBe('🔑'.repeat(20))
  })

  test('shows no part of a value that is longer than the withheld end', () => {
    const long = randomBytes(600).toString('base64url')
    const redaction = new Redaction()
    redaction.given('s', [['LONG', long]])
    for (const form of [
      long,
      Buffer.from(long).toString('base64').replace(/.{76}/g, '$&\n'),
      encodeURIComponent(long),
    ]) {
      const text = `begin ${form} end of it${' .'.repeat(100)}`
      let shown = ''
      let released = 0
      for (let to = 1; to <= text.length; to += 7) {
        const next = redaction.of('s').growing(text.slice(0, to), { released, isQuiet: false })
        released = next.released
        shown = next.text
        for (let at = 0; at + 8 <= form.length - 8; at += 8) expect(shown).not.toContain(form.slice(at, at + 8))
      }
      expect(shown).toStartWith('begin [redacted LONG]')
    }
  })
})

test('searches for the largest allowed secrets at a bounded cost', () => {
  const large = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [`L${index}`, randomBytes(48 * 1024).toString('base64')]),
  )
  const redactor = of(large)
  expect(redactor.text(`a ${large.L3!} b`)).toBe('a [redacted L3] b')
})

test('removes an encoded value completely, or only its beginning when it is very long or one of very many', () => {
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

describe('redacting lines of a program', () => {
  const [one, two] = ['c2VjcmV0LW9mLXRo', 'ZS1wcm9qZWN0']
  const said = (text: string, stream = 'run', at = '10:00') => ({ at, stream, text })
  const begin = (from: LogPosition = { after: 0, ahead: {} }) => {
    const redaction = new Redaction()
    redaction.given('s', [['A', 'secret-of-the-project']])
    const lines = new RedactedLines(redaction.of('s'), from)
    let seq = from.after
    const take = (...texts: ReturnType<typeof said>[]) => lines.take(texts.map((line) => ({ ...line, seq: ++seq })))
    return { redaction, lines, take }
  }

  const long = (name: string) => `${name} ${'.'.repeat(200)}`

  test('withholds a fixed number of characters per stream, and keeps the times of the lines', () => {
    const { lines, take } = begin()
    expect(lines.isHolding).toBe(false)
    expect(take(said('begin'))).toEqual([])
    expect(lines.isHolding).toBe(true)
    expect(take(said(long('meanwhile'), 'build'))).toEqual([])
    expect(take(said(long('next'), 'run', '10:01'))).toEqual([said('begin')])
    expect(take(said(long('last'), 'run', '10:02'))).toEqual([said(long('next'), 'run', '10:01')])
    expect(lines.rest(60_000)).toEqual([])
    expect(lines.rest()).toEqual([said(long('meanwhile'), 'build'), said(long('last'), 'run', '10:02')])
    expect(lines.isHolding).toBe(false)
    expect(lines.rest()).toEqual([])
  })

  test('finds a secret that spans two lines', () => {
    const { take } = begin()
    expect(take(said('begin'), said(one))).toEqual([])
    expect(take(said(two, 'run', '10:01'), said(long('end'), 'run', '10:02'))).toEqual([
      said('begin', 'run', '10:00'),
      said('[redacted A]', 'run', '10:01'),
    ])
  })

  test('shows withheld lines unchanged when nothing follows', () => {
    const { lines, take } = begin()
    expect(take(said('one\n'), said(''), said(one))).toEqual([])
    expect(lines.rest()).toEqual([said('one'), said(''), said(''), said(one)])
    // Later text starts over.
    expect(take(said(two))).toEqual([])
    expect(lines.rest()).toEqual([said(two)])
  })

  test('redacts a secret that is set while lines arrive, and shows withheld lines first', () => {
    const { redaction, lines, take } = begin()
    expect(take(said(one))).toEqual([])
    redaction.given('s', [['B', 'another-secret']])
    expect(take(said('x another-secret', 'run', '10:01'))).toEqual([said(one)])
    expect(lines.rest()).toEqual([said('x [redacted B]', 'run', '10:01')])
  })

  /** Another reader takes every line from where the first one stopped, whatever that one held back. */
  const goOn = (all: ReturnType<typeof said>[], position: LogPosition) => {
    const { lines } = begin(position)
    const rest = all.map((line, index) => ({ ...line, seq: index + 1 })).slice(position.after)
    return [...lines.take(rest), ...lines.rest()]
  }

  test('another reader continues after any line, and sees each line once without part of a secret', () => {
    const of = (lines: ReturnType<typeof said>[], stream: string) => lines.filter((line) => line.stream === stream)
    // The place up to which text is shown falls before, into and behind each half of the secret.
    for (let width = 100; width <= 200; width++) {
      const filler = '.'.repeat(width)
      const all = [
        ...[said('begin'), said('building', 'svc'), said(`x ${one}`), said(two), said(filler), said('built', 'svc')],
        ...[said(`y ${one}`), said(two), said(filler), said('plain'), said(long('more'), 'svc'), said('end')],
      ]
      const whole = goOn(all, { after: 0, ahead: {} })
      expect(of(whole, 'run').map(({ text }) => text)).toEqual([
        'begin',
        'x [redacted A]',
        filler,
        'y [redacted A]',
        filler,
        'plain',
        'end',
      ])
      for (let count = 0; count <= all.length; count++) {
        const { lines, take } = begin()
        const before = take(...all.slice(0, count))
        const after = goOn(all, lines.position)
        for (const stream of ['run', 'svc'])
          expect([...of(before, stream), ...of(after, stream)]).toEqual(of(whole, stream))
      }
    }
  })

  test('the next reader skips lines that were shown', () => {
    const { lines, take } = begin()
    take(said('one'), said('two', 'svc'))
    lines.rest()
    expect(lines.position).toEqual({ after: 2, ahead: {} })
    take(said('three'), said('four', 'svc'), said(long('five'), 'svc'))
    expect(lines.position).toEqual({ after: 2, ahead: { svc: 4 } })
  })
})
