/** The same stream of an agent under a fake clock, with and without secrets its session was not given. */
import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { Redaction } from '../../redaction/redaction.ts'
import { canaries, encodingsOfACanary } from '../../redaction/testing-canaries.ts'
import { seeded } from '../../redaction/testing-splits.ts'
import { Conversation } from './assemble.ts'
import { quietMs, TranscriptRedactor } from './transcript-redaction.ts'

const feedMs = 40

interface Step {
  /** Since the step before. */
  afterMs: number
  delta: string
}

/** Compares what a reader sees after each delta and after each quiet period. */
function watch(redaction: Redaction, steps: Step[]): [at: number, shown: string][] {
  let now = 0
  const conversation = new Conversation('ses', new TranscriptRedactor(redaction.of('s'), () => new Date(now)))
  const apply = (type: string, properties: object) =>
    conversation.apply({ type, properties: { sessionID: 'ses', ...properties } })
  const shown: [number, string][] = []
  const look = () => shown.push([now, JSON.stringify(conversation.message('msg'))])
  apply('message.updated', { info: { id: 'msg', role: 'assistant', time: { created: 1 } } })
  apply('message.part.updated', { part: { id: 'prt', messageID: 'msg', type: 'text', text: '' } })
  for (const { afterMs, delta } of steps) {
    for (let waited = 0; waited + quietMs <= afterMs; waited += quietMs) {
      now += quietMs
      if (conversation.holdsBack('msg')) look()
    }
    now += afterMs % quietMs
    apply('message.part.delta', { messageID: 'msg', partID: 'prt', field: 'text', delta })
    now += feedMs
    look()
  }
  apply('message.updated', { info: { id: 'msg', role: 'assistant', time: { created: 1, completed: 2 } } })
  look()
  return shown
}

/** Writes a text in pieces of any size, with pauses of any length. */
function steps(text: string, seed: number): Step[] {
  const random = seeded(seed)
  const made: Step[] = []
  for (let at = 0; at < text.length;) {
    const size = 1 + Math.floor(random() * 30)
    made.push({ afterMs: random() < 0.1 ? 1_200 : Math.floor(random() * 100), delta: text.slice(at, at + size) })
    at += size
  }
  return made
}

/** The value, a beginning of it and an end of it, in every third encoding, one after the other. */
const mentions = (value: string, turn = 0) =>
  encodingsOfACanary(value)
    .filter((_, nth) => nth % 3 === turn % 3)
    .flatMap(([, form]) => [form, form.slice(0, Math.ceil(form.length / 2)), form.slice(3), form.slice(0, -1)])
    .join(' and ')

const given = { GIVEN: 'the-value-of-this-session' }
const begin = () => {
  const redaction = new Redaction()
  redaction.given('s', Object.entries(given))
  return redaction
}

test('is byte for byte and moment for moment the same, for 200 secrets, their beginnings, encodings and splits', () => {
  const values = [
    ...Object.values(canaries).filter((value) => value.length < 1000),
    ...Array.from({ length: 185 }, (_, index) => randomBytes(8 + (index % 40)).toString('base64url')),
  ]
  expect(values.length).toBe(200)
  for (const [index, value] of values.entries()) {
    const stream = steps(`${given.GIVEN} ${mentions(value, index)} end`, index)
    const without = watch(begin(), stream)
    const knowing = begin()
    // Everywhere the server has one: the operator's, the project's git credential, its secrets, those of other sessions.
    knowing.learnOperator({ UPSTREAM: value })
    knowing.learnCredential('p', value)
    knowing.learn('p', 1, { ONLY_HERE: value })
    knowing.given('another', [['ONLY_HERE', value]])
    knowing.sandboxBegins('another', 'sandbox', { SVC_TOKEN: value })
    expect(Bun.deepEquals(watch(knowing, stream), without)).toBe(true)
    expect(without.at(-1)?.[1]).toContain('[redacted GIVEN]')
  }
}, 120_000)

test('shows no part of a value the session was given while it is written, and keeps no text back for long', () => {
  const value = randomBytes(30).toString('base64url')
  const redaction = new Redaction()
  redaction.given('s', [['GIVEN', value]])
  const text = `${'words before it '.repeat(20)}${mentions(value).split(' and ')[0]} ${'words behind it '.repeat(20)}`
  for (let seed = 0; seed < 20; seed++) {
    const shown = watch(redaction, steps(text, seed))
    for (const [, message] of shown) expect(message.includes(value.slice(0, 4))).toBe(false)
    expect(shown.at(-1)?.[1]).toContain('words before it [redacted GIVEN] words behind it')
  }
})

test('shows the end of a quiet text up to its last word, and all of it once it ends', () => {
  const shown = watch(begin(), [
    { afterMs: 0, delta: 'Two words' },
    { afterMs: quietMs, delta: ' more' },
  ])
  const texts = shown.map(([at, message]) => [
    at,
    (JSON.parse(message) as { parts: { text: string }[] }).parts[0]?.text,
  ])
  expect(texts).toEqual([
    [feedMs, ''],
    [feedMs + quietMs, 'Two '],
    [feedMs + quietMs + feedMs, 'Two '],
    [feedMs + quietMs + feedMs, 'Two words more'],
  ])
})
