/** Parses the permissions and questions of the runtime. The input is untrusted, so every field is checked. Long texts are cut after the redaction, so that no part of a secret remains at the cut. */
import { isRecord, questionNoteMax, questionOptionsMax } from '@svc/contract'
import { storable } from '../../sandboxes/storable.ts'
import type { NewQuestion } from './store.ts'

/** One request of the runtime with one or more questions, which are answered together. */
export interface Request {
  id: string
  kind: 'permission' | 'question'
  questions: Pick<NewQuestion, 'title' | 'detail' | 'note' | 'options' | 'multiple'>[]
}

export type RuntimeEvent =
  | { kind: 'asked'; request: Request }
  /** `answer` is null for a reply without one and for a request with several questions. */
  | { kind: 'replied'; id: string; answer: string | null }
  | { kind: 'rejected'; id: string }

/** Ids become parts of URLs. */
const idPattern = /^[\w.-]{1,200}$/
const questionsMax = 10
const patternsMax = 20
/** Half of a note, because the redaction may make it longer. */
const alwaysCharsMax = questionNoteMax / 2

export function readEvent(event: unknown): RuntimeEvent | null {
  if (!isRecord(event) || !isRecord(event.properties)) return null
  const { type, properties } = event
  const id = properties.requestID
  switch (type) {
    case 'permission.asked':
      return asked(readPermission(properties))
    case 'question.asked':
      return asked(readQuestions(properties))
    case 'permission.replied':
      return isId(id) ? { kind: 'replied', id, answer: permissionValue(properties.reply) } : null
    case 'question.replied':
      return isId(id) ? { kind: 'replied', id, answer: onlyAnswer(properties.answers) } : null
    case 'question.rejected':
      return isId(id) ? { kind: 'rejected', id } : null
    default:
      return null
  }
}

export function readList(kind: Request['kind'], list: unknown): Request[] {
  if (!Array.isArray(list)) return []
  return (list as unknown[]).flatMap((entry) => {
    const request = !isRecord(entry) ? null : kind === 'permission' ? readPermission(entry) : readQuestions(entry)
    return request === null ? [] : [request]
  })
}

export function replyOf(
  kind: Request['kind'],
  answered: { answer: string; multiple: boolean; options: { value: string }[] }[],
): object {
  if (kind === 'permission') return { reply: answered[0]?.answer }
  return {
    answers: answered.map(({ answer, multiple, options }) => {
      const lines = answer.split('\n').map((line) => line.trim())
      const isChoice = multiple && lines.every((line) => options.some(({ value }) => value === line))
      return isChoice ? lines : [answer]
    }),
  }
}

const asked = (request: Request | null): RuntimeEvent | null => (request === null ? null : { kind: 'asked', request })

function readPermission(given: Record<string, unknown>): Request | null {
  const { id, permission } = given
  if (!isId(id) || typeof permission !== 'string') return null
  const patterns = texts(given.patterns).filter((pattern) => pattern !== '*')
  const note = alwaysText(given.always)
  const metadata = isRecord(given.metadata) ? given.metadata : {}
  // The patterns are parts of the command; the person decides on the whole command.
  const whole = clean(metadata.command)
  const about = whole === '' ? [patterns.join('\n'), metadataText(metadata, patterns)] : [whole]
  const options = [
    { value: 'once', label: 'Allow once' },
    ...(note === '' ? [] : [{ value: 'always', label: 'Always allow in this session' }]),
    { value: 'reject', label: 'Deny' },
  ]
  const detail = about.filter((each) => each !== '').join('\n\n')
  return { id, kind: 'permission', questions: [{ title: titleOf(permission), detail, note, options, multiple: false }] }
}

const titles: Record<string, string> = {
  bash: 'Run a command',
  edit: 'Change a file',
  read: 'Read a file',
  webfetch: 'Fetch a web page',
  websearch: 'Search the web',
  external_directory: 'Use files outside the repository',
  task: 'Start a subagent',
  skill: 'Use a skill',
  doom_loop: 'Continue although the same call was repeated',
}

const titleOf = (permission: string) =>
  Object.hasOwn(titles, permission) ? titles[permission]! : `Use the tool ${clean(permission)}`

/** The remaining details for the decision, such as a diff or a URL. */
function metadataText(metadata: Record<string, unknown>, patterns: string[]): string {
  if (typeof metadata.diff === 'string') return clean(metadata.diff)
  return Object.entries(metadata)
    .filter(([, value]) => typeof value === 'string' && value !== '' && !patterns.includes(value))
    .map(([name, value]) => `${clean(name)}: ${clean(value)}`)
    .join('\n')
}

/** Empty where the person could not see everything that "always" would allow. Then only this use can be allowed. */
function alwaysText(given: unknown): string {
  const always = texts(given)
  if (always.length === 0) return ''
  if (always.includes('*')) return '"Always" allows every use of this tool.'
  const text = `"Always" allows: ${always.join(', ')}`
  return always.length < (given as unknown[]).length || text.length > alwaysCharsMax ? '' : text
}

function readQuestions(given: Record<string, unknown>): Request | null {
  const { id, questions } = given
  if (!isId(id) || !Array.isArray(questions)) return null
  const read = (questions as unknown[])
    .slice(0, questionsMax)
    .map((entry) => readQuestion(isRecord(entry) ? entry : {}))
  return read.length === 0 ? null : { id, kind: 'question', questions: read }
}

function readQuestion({ question, options, multiple }: Record<string, unknown>): Request['questions'][number] {
  const choices = (Array.isArray(options) ? (options as unknown[]) : []).filter(isRecord).flatMap((option) => {
    const label = clean(option.label).trim()
    return label === '' ? [] : [{ label, description: clean(option.description) }]
  })
  const known = [...new Map(choices.map((choice) => [choice.label, choice])).values()].slice(0, questionOptionsMax)
  const described = known.filter(({ description }) => description !== '' && description !== undefined)
  const detail = described.map(({ label, description }) => `${label}: ${description}`)
  const takesSeveral = multiple === true && known.length > 1
  return {
    title: clean(question) || 'The agent asks a question',
    detail: detail.join('\n'),
    note: takesSeveral ? 'Several answers are possible, one per line.' : '',
    options: known.map(({ label }) => ({ value: label, label })),
    multiple: multiple === true,
  }
}

const permissionValue = (reply: unknown) =>
  reply === 'once' || reply === 'always' || reply === 'reject' ? reply : null

function onlyAnswer(answers: unknown): string | null {
  if (!Array.isArray(answers) || answers.length !== 1) return null
  const lines = texts(answers[0])
  return lines.length === 0 ? null : lines.join('\n')
}

const texts = (list: unknown): string[] =>
  (Array.isArray(list) ? (list as unknown[]) : [])
    .filter((entry) => typeof entry === 'string')
    .slice(0, patternsMax)
    .map(clean)

const clean = (text: unknown): string => (typeof text === 'string' ? storable(text.slice(0, 64 * 1024)) : '')

const isId = (id: unknown): id is string => typeof id === 'string' && idPattern.test(id)
