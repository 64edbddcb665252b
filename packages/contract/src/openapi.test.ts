import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { type ErrorCode, errorStatus } from './errors.ts'
import { openApiDocument, routes } from './openapi.ts'
import { repetitions } from './repetitions.ts'
import type { Access, Route } from './route.ts'

const named = routes.map((route) => [route.name, route] as const)
const accesses: Access[] = [
  ...(['public', 'token', 'account', 'user', 'sandbox'] as const),
  ...(['account-read', 'account-admin'] as const),
  ...(['project-read', 'project-write', 'project-admin'] as const),
]

describe('the routes', () => {
  test('route names and pairs of method and path are unique, whatever the parameters are called', () => {
    const count = (keys: string[]) => keys.filter((key, index) => keys.indexOf(key) !== index)
    expect(count(routes.map((route) => route.name))).toEqual([])
    expect(count(routes.map((route) => `${route.method} ${route.path.replaceAll(/:[A-Za-z]+/g, ':')}`))).toEqual([])
    expect(routes.length).toBeGreaterThan(35)
  })

  test.each(named)('the definition of the route %s is complete', (name, route) => {
    expect(name).toMatch(/^[a-z][A-Za-z]+$/)
    expect(route.summary).toMatch(/^[A-Z].*[^.]$/)
    expect(route.path).toMatch(/^\/v1(\/(:[a-z][A-Za-z]*|[a-z][a-z-]*))+$/)
    expect(accesses).toContain(route.access)
    expect(Object.keys(route.params.shape)).toEqual([...route.path.matchAll(/:([A-Za-z]+)/g)].map((match) => match[1]!))
  })

  // These lists are parts of one answer, or bounded by it: a diff, a check's runs, sums of usage.
  const wholeAnswers = [
    ...['getMe', 'compareRefs', 'getTimeline', 'accountUsage', 'projectUsage', 'sessionUsage', 'getUnfinishedWork'],
    'getSessionChanges',
    ...['diffChangeRequest', 'previewChangeRequest', 'getChecks', 'readCheckLog', 'getTrigger', 'getChannel'],
    ...['getReviewState', 'getReadingGuide', 'getChangeRequestOrigins', 'blameFile', 'searchFiles', 'searchEverything'],
    ...['getApp', 'readAppLogs', 'getConnector', 'getModelUpstream', 'examineServer', 'getStorage', 'countOpenWork'],
  ]
  const isList = ({ method, reply, stream }: Route) =>
    method === 'GET' &&
    !stream &&
    (reply instanceof z.ZodArray ||
      (reply instanceof z.ZodObject && Object.values(reply.shape).some((field) => field instanceof z.ZodArray)))

  test('every list takes limit and cursor', () => {
    const lists = routes.filter((route) => isList(route) && !wholeAnswers.includes(route.name))
    const without = lists.filter(({ query }) => !('limit' in query.shape && 'cursor' in query.shape))
    expect(without.map(({ name }) => name)).toEqual([])
    expect(lists.length).toBeGreaterThan(20)
  })

  test.each(named)('the access of the route %s matches its path', (_, route) => {
    const isAccount = /^\/v1\/accounts(\/|$)/.test(route.path)
    const isProject = route.path.startsWith('/v1/projects/:projectId')
    const isOneAccount = route.path.startsWith('/v1/accounts/:accountId')
    expect(route.access === 'account').toBe(isAccount && !isOneAccount)
    expect(route.access.startsWith('account-')).toBe(isOneAccount)
    expect(route.access.startsWith('project-') || route.access === 'sandbox').toBe(isProject)
  })

  test.each(named.filter(([, route]) => route.method === 'GET'))('the GET route %s has no body', (_, route) => {
    expect(route.body).toBeNull()
    expect(route.status).toBe(200)
    expect(route.idempotent).toBeFalse()
  })

  test('every route of change requests requires write access', () => {
    const ofChangeRequests = routes.filter((route) => route.path.includes('/change-requests'))
    expect(ofChangeRequests).toHaveLength(26)
    for (const route of ofChangeRequests) expect([route.name, route.access]).toEqual([route.name, 'project-write'])
  })

  test('a POST that creates or merges accepts an idempotency key, and a POST that mints a token does not', () => {
    const keyed = routes.filter((route) => route.idempotent).map((route) => route.name)
    expect(keyed.toSorted()).toEqual(
      [
        'applySuggestions',
        'createAccount',
        'createProject',
        'createSession',
        'promptSession',
        'openChangeRequest',
        'proposeFile',
        'createFirstCommit',
        ...['createReview', 'answerComment', 'replyToComment'],
        'mergeChangeRequest',
        'openPullRequest',
        ...['fireTrigger', 'enableTrigger', 'disableTrigger'],
        ...['deployApp', 'rollbackApp'],
        ...['createWebhook', 'pingWebhook', 'redeliver', 'rotateHostWebhook'],
      ].toSorted(),
    )
    expect(keyed.filter((name) => /token|link/i.test(name))).toEqual([])
    // An answer that is kept lies in the database as it is.
    const withSecret = routes.filter(
      (route) => route.idempotent && JSON.stringify(z.toJSONSchema(route.reply)).includes('"secret"'),
    )
    expect(withSecret.map((route) => route.name)).toEqual(
      routes.filter((route) => route.secretReply).map((route) => route.name),
    )
  })
})

interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  parameters?: ({ $ref: string } | { name: string; in: string; required: boolean })[]
  requestBody?: { content: Record<string, { schema: unknown; example?: unknown }> }
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: unknown }> }>
  security?: Record<string, string[]>[]
  'x-error-codes': ErrorCode[]
}
interface Document {
  info: { version: string }
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, unknown>; parameters: Record<string, { name: string; in: string }> }
}

describe('the OpenAPI document', () => {
  const made = openApiDocument('1.2.3')
  const parsed = made as unknown as Document
  const operations = Object.values(parsed.paths).flatMap((methods) => Object.values(methods))

  test('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(made))
    expect([valid, errors]).toEqual([true, undefined])
  })

  test('survives a round trip through JSON', () => {
    expect(JSON.parse(JSON.stringify(made))).toEqual(made)
    expect(parsed.info.version).toBe('1.2.3')
  })

  test('describes each route once and nothing else', () => {
    expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(
      routes.map((route) => route.name).toSorted(),
    )
  })

  test('gives every operation a tag, a summary and a description, and every tag a description', () => {
    const tags = parsed.tags.map(({ name }) => name)
    for (const { operationId, tags: own, summary, description } of operations) {
      expect([operationId, own.length, tags.includes(own[0]!)]).toEqual([operationId, 1, true])
      expect([operationId, summary.length < 70]).toEqual([operationId, true])
      expect([operationId, description]).toEqual([operationId, expect.stringMatching(/^[A-Z`][^]*\.$/)])
    }
    expect(parsed.tags.every(({ description }) => description.endsWith('.'))).toBeTrue()
    expect(new Set(operations.flatMap(({ tags: own }) => own)).size).toBe(tags.length)
  })

  test('lists the error codes of every operation under their statuses', () => {
    for (const operation of operations) {
      const statuses = [...new Set(operation['x-error-codes'].map((code) => String(errorStatus(code))))]
      const errors = Object.keys(operation.responses).filter((status) => !status.startsWith('2'))
      expect([operation.operationId, errors.toSorted()]).toEqual([operation.operationId, statuses.toSorted()])
      expect(operation['x-error-codes']).toContain('internal')
    }
  })

  test('defines an object that several operations return once, under its name', () => {
    const inlined = JSON.stringify(parsed.paths)
    for (const [name, schema] of Object.entries(parsed.components.schemas))
      expect([name, inlined.includes(JSON.stringify(schema))]).toEqual([name, false])
    expect(Object.keys(parsed.components.schemas)).toContain('ChangeRequest')
  })

  test('gives event streams, patches, bundles and files their own media types', () => {
    const types = new Set(operations.flatMap(({ responses }) => Object.keys(Object.values(responses)[0]!.content!)))
    expect([...types].toSorted()).toEqual(
      [
        ...['application/json', 'application/octet-stream', 'application/x-git-bundle', 'application/x-ndjson'],
        ...['image/gif', 'image/jpeg', 'image/png', 'image/webp', 'text/event-stream', 'text/x-diff'],
      ].toSorted(),
    )
  })

  test('says for every POST that it takes an Idempotency-Key, or what a second request does', () => {
    const posts = operations.filter(({ operationId }) => routeNamed(operationId).method === 'POST')
    expect(posts.length).toBeGreaterThan(40)
    const silent = posts.filter((operation) => {
      const takesKey = parametersOf(operation).some(({ name }) => name === 'Idempotency-Key')
      const explained = /\nTakes no Idempotency-Key\. .{15,}\.$/.test(operation.description)
      return takesKey === explained
    })
    expect(silent.map(({ operationId }) => operationId)).toEqual([])
    const names = posts.map(({ operationId }) => operationId)
    expect(Object.keys(repetitions).filter((name) => !names.includes(name))).toEqual([])
  })

  test('contains the target of every reference', () => {
    const references = [...JSON.stringify(made).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
    for (const reference of new Set(references)) {
      const found = reference
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], made)
      expect([reference, found]).not.toEqual([reference, undefined])
    }
  })

  test.each(named)('describes the parameters, body and reply of %s', (_, route) => {
    const described = operationOf(route)
    const parameters = parametersOf(described)
    expect(described.operationId).toBe(route.name)
    const inPath = parameters.filter((each) => each.in === 'path')
    expect(inPath.map((each) => each.name)).toEqual(Object.keys(route.params.shape))
    expect(described.requestBody === undefined).toBe(route.body === null)
    expect(Object.keys(described.responses)).toContain(String(route.status))
    expect(described.security === undefined).toBe(route.access !== 'public' && route.access !== 'sandbox')
    const names = parameters.map((each) => each.name)
    expect(names.includes('Idempotency-Key')).toBe(route.idempotent)
    expect(names.filter((name) => name in route.query.shape)).toEqual(Object.keys(route.query.shape))
  })

  function parametersOf({ parameters = [] }: Operation) {
    return parameters.map((each) =>
      '$ref' in each ? parsed.components.parameters[each.$ref.split('/').at(-1)!]! : each,
    )
  }

  function routeNamed(name: string): Route {
    return routes.find((route) => route.name === name)!
  }

  function operationOf(route: Route): Operation {
    const path = route.path.replaceAll(/:([A-Za-z]+)/g, '{$1}')
    const found = parsed.paths[path]?.[route.method.toLowerCase()]
    if (found === undefined) throw new Error(`${route.name} is not described.`)
    return found
  }
})
