/** An agent that writes into its own session and reads it back learns nothing about values its sandbox was not given. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import type { Message, SessionEvent } from '@svc/contract'
import { buildApp } from '../../app.ts'
import { seeded } from '../../redaction/testing-splits.ts'
import { encodingsOfACanary } from '../../redaction/testing-canaries.ts'
import {
  type EventReader,
  makeSessionApp,
  readEvents,
  type RunningSession,
  type SessionApp,
  until,
} from '../testing.ts'

const letters = ['a', 'b', 'c', 'd']
const random = seeded(13)
const word = (length: number) => Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('')

const upstreamKey = `upstream-${word(10)}`
const gitCredential = `git-host-${word(10)}`
const connectorSecret = `connects-${word(10)}`
const manifest = `[[connectors]]
slug = "tickets"
type = "http"
url = "https://tickets.example.test/api"
auth = { type = "bearer", secret_env = "TICKETS_KEY" }
`

let app: SessionApp
let session: RunningSession
let agent: (ask: Ask) => Promise<void> = async () => {}

/** Writes a text at the end of the agent's message, and answers with how many of all characters the reader lacks then. */
type Ask = (text: string) => Promise<number>

beforeAll(async () => {
  app = await makeSessionApp({
    files: { 'svc.toml': manifest },
    configure: { model: { url: 'http://127.0.0.1:9/v1', key: upstreamKey, name: 'm' } },
  })
  app.deps.redaction.learnCredential(app.project.project_id, gitCredential)
  await setSecret('TICKETS_KEY', connectorSecret)
  session = await app.running()
  expect(Object.values(session.env)).not.toContain(connectorSecret)
}, 120_000)
afterAll(async () => {
  await app.close()
})

async function setSecret(name: string, value: string): Promise<void> {
  const body = { name, value }
  expect((await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, { body })).status).toBe(200)
}

const answered = new Set<string>()

const isAnswer = (event: SessionEvent): event is SessionEvent & { type: 'message' } =>
  event.type === 'message' && event.message.role === 'assistant'

/** As a script of the agent does: a growing text part, read back with the token of the sandbox. */
async function asAgent(work: (ask: Ask) => Promise<void>): Promise<Message> {
  const { publicUrl } = app.deps.config
  const headers = { host: new URL(publicUrl).host, authorization: `Bearer ${session.env.SVC_CLI_TOKEN}` }
  const events = readEvents(
    await buildApp(app.deps).request(publicUrl + app.path(session.session_id, 'events'), { headers }),
  )
  agent = work
  app.driver.options.onStream = () => writing(events)
  try {
    const prompt = { body: { text: 'Go.' } }
    expect((await app.request('POST', app.path(session.session_id, 'prompt'), prompt)).status).toBe(202)
    const last = await events.find(
      'the answer is complete',
      (event) => isAnswer(event) && event.message.completed_at !== null && !answered.has(event.message.message_id),
    )
    const { message } = last as SessionEvent & { type: 'message' }
    answered.add(message.message_id)
    return message
  } finally {
    await events.close()
  }
}

/** Longer than what may stay back, so an event that shows more of the text than this is about the text with the question in it. */
const lead = 'x'.repeat(240)

async function* writing(events: EventReader): AsyncIterable<string> {
  const questions: { text: string; answered: (hidden: number) => void }[] = []
  let wake = () => {}
  let hasEnded = false
  const work = agent((text) => {
    const { promise, resolve } = Promise.withResolvers<number>()
    questions.push({ text, answered: resolve })
    wake()
    return promise
  }).finally(() => {
    hasEnded = true
    wake()
  })
  let written = 0
  for (;;) {
    const question = questions.shift()
    if (question === undefined) {
      if (hasEnded) break
      await new Promise<void>((resolve) => (wake = resolve))
      continue
    }
    const from = events.seen.length
    const piece = `\n${lead}${question.text}`
    written += piece.length
    yield piece
    const hidden = await until('the question is shown', () => {
      for (const event of events.seen.slice(from)) {
        const hides = written - lengthShown(event)
        if (hides < lead.length) return { hides }
      }
      return null
    })
    question.answered(hidden.hides)
  }
  await work
}

function lengthShown(event: SessionEvent): number {
  return isAnswer(event) && !answered.has(event.message.message_id) ? textOf(event.message).length : 0
}

function textOf(message: Message | undefined): string {
  const [part] = message?.parts ?? []
  return part?.type === 'text' ? part.text : ''
}

test('a script that writes guesses and reads them back recovers no key, credential or secret of the server', async () => {
  const recovered: Record<string, string> = {}
  await asAgent(async (ask) => {
    for (const secret of [upstreamKey, gitCredential, connectorSecret]) {
      let known = secret.slice(0, 9)
      while (known.length < secret.length - 1) {
        const hidden = new Map<string, number>()
        for (const letter of letters) hidden.set(letter, await ask(known + letter))
        // The letter with which all of the guess is withheld, while more is shown with each other letter.
        const [most = '', next = ''] = letters.toSorted((one, other) => hidden.get(other)! - hidden.get(one)!)
        if (hidden.get(most) === hidden.get(next)) break
        known += most
      }
      recovered[secret] = known.slice(9)
    }
  })
  expect(recovered).toEqual({ [upstreamKey]: '', [gitCredential]: '', [connectorSecret]: '' })
}, 120_000)

test('200 secrets the sandbox lacks, their beginnings and encodings read like 200 random texts', async () => {
  const secrets = Array.from({ length: 200 }, () => randomBytes(18).toString('base64url'))
  const others = Array.from({ length: 200 }, () => randomBytes(18).toString('base64url'))
  for (const [index, value] of secrets.entries()) await setSecret(`ONLY_HERE_${index}`, value)
  const forms = (value: string, index: number): string => {
    const encoded = encodingsOfACanary(value)
    const [, text] = encoded[index % encoded.length]!
    return [text, text.slice(0, 8 + (index % (text.length - 8))), `${text.slice(0, 9)}\n${text.slice(9)}`][index % 3]!
  }
  for (let first = 0; first < secrets.length; first += 50) {
    let written = ''
    const message = await asAgent(async (ask) => {
      for (let index = first; index < first + 50; index++) {
        const [text, other] = [forms(secrets[index]!, index), forms(others[index]!, index)]
        expect(await ask(text)).toBe(await ask(other))
        written += `\n${lead}${text}\n${lead}${other}`
      }
    })
    // Complete, it is what was written, byte for byte, and so it is kept.
    expect(textOf(message) === written).toBe(true)
    await until('the transcript has it', async () => {
      const { body } = await app.request<{ messages: Message[] }>('GET', app.path(session.session_id, 'transcript'))
      return textOf(body.messages.at(-1)) === written
    })
  }
}, 240_000)

test('an error repeats to an agent what it sent, also where that is a secret its session was not given', async () => {
  const token = session.env.SVC_CLI_TOKEN!
  const ask = async (ref: string, as?: string) => {
    const path = `/v1/projects/${app.project.project_id}/tree?ref=${encodeURIComponent(ref)}&path=`
    return (await app.request('GET', path, as === undefined ? {} : { token: as })).text
  }
  for (const secret of [upstreamKey, gitCredential, connectorSecret])
    expect((await ask(secret, token)).replaceAll(secret, 'X')).toBe(
      (await ask('another', token)).replaceAll('another', 'X'),
    )
  // A person who may write and mistook the one for the other is not shown it again.
  const person = await ask(connectorSecret)
  expect(person.includes(connectorSecret)).toBe(false)
})

test('the name of a session that an agent starts repeats what it sent', async () => {
  const made = await app.create({ initial_prompt: `Use ${connectorSecret}.` }, { token: session.env.SVC_CLI_TOKEN! })
  expect([made.status, made.body.name]).toEqual([201, `Use ${connectorSecret}.`])
})
