/** Requests that do not fit their schema, in words for a person; `issues` keeps the field names for programs. */
import { ServiceError } from '@svc/contract'
import { closest } from '@svc/contract/schemas/closest'
import { z } from 'zod'

const issuesMax = 20
const unknownField = 'has an unknown field'

export function parseWith<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const parsed = schema.safeParse(value, { error: wordsOf })
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues
    .flatMap((issue) => (issue.code === 'unrecognized_keys' ? unknownFields(schema, issue) : [issue]))
    .slice(0, issuesMax)
    .map(({ path, message }) => ({ path: path.join('.'), message }))
  const first = issues[0]
  throw invalid(first === undefined ? `The ${where} is not valid.` : sentence(where, first), issues)
}

/** One issue per unknown field, named as sent: it has no name for people. */
function unknownFields(schema: z.ZodType, issue: z.core.$ZodIssueUnrecognizedKeys) {
  const known = issue.path.length === 0 ? fieldsOf(schema) : []
  return issue.keys.slice(0, issuesMax).map((key) => {
    const near = closest(key, known)
    const shown = key.length > 60 ? `${key.slice(0, 60)}…` : key
    const question = near === null ? '' : `; did you mean ${near}?`
    return { path: [...issue.path, shown], message: `${unknownField}: ${shown}${question}` }
  })
}

function fieldsOf(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodOptional) return fieldsOf(schema.unwrap() as z.ZodType)
  return schema instanceof z.ZodObject ? Object.keys(schema.shape as object) : []
}

export function invalid(message: string, issues: { path: string; message: string }[]): ServiceError {
  return new ServiceError('invalid', message, { detail: { issues } })
}

function sentence(where: string, { path, message }: { path: string; message: string }): string {
  if (message.startsWith(unknownField)) return `The ${where} ${message}${message.endsWith('?') ? '' : '.'}`
  const isPredicate = /^(is|has|holds|must|needs) /.test(message)
  if (path === '') return isPredicate ? `The ${where} ${message}.` : `The ${where} is not valid: ${message}.`
  if (isPredicate) return `${fieldLabel(path)} ${message}.`
  return /[.!]$/.test(message) ? message : `${fieldLabel(path)}: ${message}.`
}

/** Fields that people call by another name. */
const names: Record<string, string> = {
  agent_name: 'agent',
  base_ref: 'base branch',
  body: 'text',
  cron: 'schedule',
  default_branch: 'default branch',
  expires_at: 'expiry time',
  git_token: 'Git access token',
  head_ref: 'head branch',
  initial_prompt: 'task',
  repo_url: 'repository URL',
  session_id: 'session',
  url: 'URL',
}

/** `repo_url` is "Repository URL", and `comments.3.path` "Comments 4, path". */
export function fieldLabel(path: string): string {
  // Settings have the same names wherever the body holds them.
  const parts = path.replace(/^settings\.(?=.)/, '').split('.')
  const label = parts.reduce((text, part) => {
    if (/^\d+$/.test(part)) return `${text} ${Number(part) + 1}`
    const word = names[part] ?? part.replaceAll('_', ' ')
    return text === '' ? word : `${text}, ${word}`
  }, '')
  return label.charAt(0).toUpperCase() + label.slice(1)
}

const kinds: Record<string, string> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'text',
}

/** A message of the schema itself takes precedence. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      return `must be ${kinds[issue.expected] ?? issue.expected}`
    case 'too_small':
      return issue.origin === 'string' && Number(issue.minimum) === 1
        ? 'is required'
        : `must ${amountOf(issue.origin, 'at least', issue.minimum)}`
    case 'too_big':
      return `must ${amountOf(issue.origin, 'at most', issue.maximum)}`
    case 'invalid_format':
      return issue.format === 'datetime' ? 'must be a time such as 2026-01-31T09:30:00.000Z' : undefined
    case 'invalid_value':
      return `must be ${listOf(issue.values.map(String))}`
    case 'unrecognized_keys':
      return `${unknownField}: ${issue.keys.join(', ')}`
    default:
      return undefined
  }
}

function amountOf(origin: string, atMost: string, limit: number | bigint): string {
  const isOne = Number(limit) === 1
  if (origin === 'string') return `have ${atMost} ${limit} ${isOne ? 'character' : 'characters'}`
  if (origin === 'array' || origin === 'set') return `have ${atMost} ${limit} ${isOne ? 'entry' : 'entries'}`
  return `be ${atMost} ${limit}`
}

function listOf(values: string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`
}
