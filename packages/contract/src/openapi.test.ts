import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { openApiDocument, routes } from './openapi.ts'
import type { Access, Route } from './route.ts'

const named = routes.map((route) => [route.name, route] as const)
const accesses: Access[] = [
  ...(['public', 'token', 'account', 'user', 'sandbox'] as const),
  ...(['account-read', 'account-admin'] as const),
  ...(['project-read', 'project-write', 'project-admin'] as const),
]

describe('the table of routes', () => {
  test('has no name and no method with path twice, parameters by place', () => {
    const count = (keys: string[]) => keys.filter((key, index) => keys.indexOf(key) !== index)
    expect(count(routes.map((route) => route.name))).toEqual([])
    expect(count(routes.map((route) => `${route.method} ${route.path.replaceAll(/:[A-Za-z]+/g, ':')}`))).toEqual([])
    expect(routes.length).toBeGreaterThan(35)
  })

  test.each(named)('%s is whole', (name, route) => {
    expect(name).toMatch(/^[a-z][A-Za-z]+$/)
    expect(route.summary).toMatch(/^[A-Z].*[^.]$/)
    expect(route.path).toMatch(/^\/v1(\/(:[a-z][A-Za-z]*|[a-z][a-z-]*))+$/)
    expect(accesses).toContain(route.access)
    expect(Object.keys(route.params.shape)).toEqual([...route.path.matchAll(/:([A-Za-z]+)/g)].map((match) => match[1]!))
  })

  // These lists are parts of one answer, or bounded by it: a diff, a check's runs, sums of usage.
  const wholeAnswers = [
    ...['getMe', 'compareRefs', 'getTimeline', 'accountUsage', 'projectUsage', 'sessionUsage', 'getUnfinishedWork'],
    ...['diffChangeRequest', 'previewChangeRequest', 'getChecks', 'readCheckLog', 'getTrigger', 'getChannel'],
    ...['getApp', 'readAppLogs', 'getConnector', 'getModelUpstream'],
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

  test.each(named)('%s asks for the access its path stands for', (_, route) => {
    const isAccount = /^\/v1\/accounts(\/|$)/.test(route.path)
    const isProject = route.path.startsWith('/v1/projects/:projectId')
    const isOneAccount = route.path.startsWith('/v1/accounts/:accountId')
    expect(route.access === 'account').toBe(isAccount && !isOneAccount)
    expect(route.access.startsWith('account-')).toBe(isOneAccount)
    expect(route.access.startsWith('project-') || route.access === 'sandbox').toBe(isProject)
  })

  test.each(named.filter(([, route]) => route.method === 'GET'))('%s reads, so it has no body', (_, route) => {
    expect(route.body).toBeNull()
    expect(route.status).toBe(200)
    expect(route.idempotent).toBeFalse()
  })

  test('changes of change requests need write access, and so does every other look at them', () => {
    const ofChangeRequests = routes.filter((route) => route.path.includes('/change-requests'))
    expect(ofChangeRequests).toHaveLength(17)
    for (const route of ofChangeRequests) expect([route.name, route.access]).toEqual([route.name, 'project-write'])
  })

  test('what creates or merges by POST is repeatable under one key; what mints a token is not, since it is shown once', () => {
    const keyed = routes.filter((route) => route.idempotent).map((route) => route.name)
    expect(keyed.toSorted()).toEqual(
      [
        'createAccount',
        'createProject',
        'createSession',
        'promptSession',
        'openChangeRequest',
        'createReview',
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

/** What OpenAPI 3.1 requires of the parts we use, so that a broken document is found here and not by a client's generator. */
const parameter = z.strictObject({
  name: z.string().min(1),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean(),
  schema: z.record(z.string(), z.json()),
})
const content = z.record(
  z.string().regex(/^[a-z]+\/[a-z-]+$/),
  z.strictObject({ schema: z.record(z.string(), z.json()) }),
)
const operation = z.strictObject({
  operationId: z.string().min(1),
  summary: z.string().min(1),
  parameters: z.array(parameter).min(1).optional(),
  requestBody: z.strictObject({ required: z.boolean(), content }).optional(),
  responses: z.record(z.string().regex(/^(default|[1-5]\d\d)$/), z.strictObject({ description: z.string(), content })),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
})
const document = z.strictObject({
  openapi: z.literal('3.1.0'),
  info: z.strictObject({ title: z.string(), version: z.string() }),
  paths: z.record(
    z.string().startsWith('/v1/'),
    z.partialRecord(z.enum(['get', 'put', 'post', 'patch', 'delete']), operation),
  ),
  components: z.strictObject({
    schemas: z.record(z.string(), z.record(z.string(), z.json())),
    securitySchemes: z.record(z.string(), z.record(z.string(), z.string())),
  }),
  security: z.array(z.record(z.string(), z.array(z.string()))),
})

describe('the OpenAPI document', () => {
  const made = openApiDocument('1.2.3')
  const parsed = document.parse(made)

  test('survives JSON unchanged', () => {
    expect(JSON.parse(JSON.stringify(made))).toEqual(made)
    expect(parsed.info.version).toBe('1.2.3')
  })

  test('has each route once and nothing else', () => {
    const ids = Object.values(parsed.paths).flatMap((methods) =>
      Object.values(methods).map((each) => each?.operationId ?? ''),
    )
    expect(ids.toSorted()).toEqual(routes.map((route) => route.name).toSorted())
  })

  test('refers to nothing that is not in it', () => {
    const references = [...JSON.stringify(made).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
    for (const reference of new Set(references)) {
      const found = reference
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], made)
      expect([reference, found]).not.toEqual([reference, undefined])
    }
  })

  test.each(named)('describes %s as the route is', (_, route) => {
    const described = operationOf(route)
    expect(described.operationId).toBe(route.name)
    const inPath = (described.parameters ?? []).filter((each) => each.in === 'path')
    expect(inPath.map((each) => each.name)).toEqual(Object.keys(route.params.shape))
    expect(inPath.every((each) => each.required)).toBeTrue()
    expect(described.requestBody === undefined).toBe(route.body === null)
    expect(Object.keys(described.responses)).toEqual([String(route.status), 'default'])
    expect(described.security === undefined).toBe(route.access !== 'public')
    const names = (described.parameters ?? []).map((each) => each.name)
    expect(names.includes('Idempotency-Key')).toBe(route.idempotent)
    expect(names.filter((name) => Object.keys(route.query.shape).includes(name)).toSorted()).toEqual(
      Object.keys(route.query.shape).toSorted(),
    )
  })

  function operationOf(route: Route) {
    const path = route.path.replaceAll(/:([A-Za-z]+)/g, '{$1}')
    const found = parsed.paths[path]?.[route.method.toLowerCase() as 'get']
    if (found === undefined) throw new Error(`${route.name} is not described.`)
    return found
  }
})
