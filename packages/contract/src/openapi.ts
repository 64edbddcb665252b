/** The API document: OpenAPI 3.1, made from the routes. */
import { classOfCode, type ErrorCode, errorStatus, statusOfClass } from './errors.ts'
import { type JsonSchema, SchemaComponents } from './openapi-schemas.ts'
import { repetitions } from './repetitions.ts'
import type { Route } from './route.ts'
import * as accounts from './routes/accounts.ts'
import * as apps from './routes/apps.ts'
import * as browse from './routes/browse.ts'
import * as changeRequests from './routes/change-requests.ts'
import * as checks from './routes/checks.ts'
import * as events from './routes/events.ts'
import * as hostWebhooks from './routes/host-webhooks.ts'
import * as channels from './routes/channels.ts'
import * as connectors from './routes/connectors.ts'
import * as models from './routes/models.ts'
import * as origins from './routes/origins.ts'
import * as previews from './routes/previews.ts'
import * as projects from './routes/projects.ts'
import * as questions from './routes/questions.ts'
import * as reviews from './routes/reviews.ts'
import * as inbox from './routes/inbox.ts'
import * as reviewState from './routes/review-state.ts'
import * as invitations from './routes/invitations.ts'
import * as notices from './routes/notices.ts'
import * as search from './routes/search.ts'
import * as secrets from './routes/secrets.ts'
import * as servers from './routes/servers.ts'
import * as sessionFiles from './routes/session-files.ts'
import * as sessions from './routes/sessions.ts'
import * as usage from './routes/usage.ts'
import * as storage from './routes/storage.ts'
import * as system from './routes/system.ts'
import * as tokens from './routes/tokens.ts'
import * as unfinishedWork from './routes/unfinished-work.ts'
import * as triggers from './routes/triggers.ts'
import * as webhooks from './routes/webhooks.ts'

/** One tag of the document for each file of routes, in reading order. */
const groups: { tag: string; about: string; module: Record<string, unknown> }[] = [
  { tag: 'System', about: 'Health and readiness of the server.', module: system },
  {
    tag: 'Servers',
    about: 'Servers that share a database, the home of each project, and the copies of repositories.',
    module: servers,
  },
  { tag: 'Storage', about: 'What uses the disk and the database, and how long it is kept.', module: storage },
  { tag: 'Accounts', about: 'Accounts, members, sign-in, and the audit log.', module: accounts },
  { tag: 'Invitations', about: 'Invitations to an account.', module: invitations },
  { tag: 'Notices', about: 'Credentials created in the name of a user.', module: notices },
  { tag: 'Tokens', about: 'User tokens, project tokens, and the sign-in of the command line.', module: tokens },
  { tag: 'Projects', about: 'Projects, their settings, and their deletion.', module: projects },
  { tag: 'Repository', about: 'Branches, commits, folders and files of a project.', module: browse },
  { tag: 'Secrets', about: 'Secrets that sandboxes get as environment variables.', module: secrets },
  { tag: 'Sessions', about: 'Agents at work on a branch: start, prompt, follow, stop.', module: sessions },
  { tag: 'Models', about: 'Models that sessions can use, and the upstream that serves them.', module: models },
  { tag: 'Questions', about: 'Questions an agent asks a person.', module: questions },
  { tag: 'Usage', about: 'Tokens, sandbox time and storage that were used.', module: usage },
  { tag: 'Unfinished work', about: 'Work of a session that is not committed and pushed.', module: unfinishedWork },
  { tag: 'Session files', about: 'The work tree of a session, to read.', module: sessionFiles },
  { tag: 'Previews', about: 'Ports of a sandbox, opened in a browser.', module: previews },
  { tag: 'Change requests', about: 'Branches proposed for merging.', module: changeRequests },
  { tag: 'Origins', about: 'How the lines of a change request were written.', module: origins },
  { tag: 'Checks', about: 'Commands that run on the merge of a change request.', module: checks },
  { tag: 'Reviews', about: 'Comments on the lines of a change request.', module: reviews },
  { tag: 'Inbox', about: 'What needs a person, across their projects.', module: inbox },
  { tag: 'Search', about: 'Change requests and sessions by name, across projects.', module: search },
  {
    tag: 'Review state',
    about: 'What one person has viewed and drafted, and the versions of a change request.',
    module: reviewState,
  },
  { tag: 'Triggers', about: 'Schedules and webhooks that start sessions.', module: triggers },
  { tag: 'Events', about: 'The event feed of a project.', module: events },
  { tag: 'Channels', about: 'Chat channels connected to a project.', module: channels },
  { tag: 'Webhooks', about: 'Deliveries of project events to other services.', module: webhooks },
  { tag: 'Apps', about: 'Apps deployed from the default branch.', module: apps },
  { tag: 'Git host', about: 'The webhook by which a git host reports pushes.', module: hostWebhooks },
  { tag: 'Connectors', about: 'MCP servers and HTTP APIs that agents can call.', module: connectors },
]

const tagged = groups.flatMap(({ tag, module }) =>
  Object.values(module)
    .filter(isRoute)
    .map((route) => ({ tag, route })),
)

/** Every route of the contract. Found by shape, so that a new route cannot be forgotten here. */
export const routes: Route[] = tagged.map(({ route }) => route)

function isRoute(value: unknown): value is Route {
  return typeof value === 'object' && value !== null && 'access' in value && 'path' in value && 'reply' in value
}

const errorCodes = [...Object.keys(statusOfClass), ...Object.keys(classOfCode)] as ErrorCode[]

const errorSchema = {
  type: 'object',
  description: 'Every error has this shape. Facts about it, such as `conflicts`, are additional fields.',
  properties: {
    error: { type: 'string', description: 'A sentence that says what happened.' },
    code: { $ref: '#/components/schemas/ErrorCode' },
    hint: { type: 'string', description: 'What to do next.' },
  },
  required: ['error', 'code'],
  additionalProperties: true,
}

/** The shared error responses, by status. */
const errorResponses: Record<number, { name: string; about: string; retryAfter?: true }> = {
  400: { name: 'Invalid', about: 'The request is not valid. `issues` lists what is wrong, with `path` and `message`.' },
  401: { name: 'Unauthenticated', about: 'The token is missing, malformed, unknown, expired or revoked.' },
  403: { name: 'Forbidden', about: 'The token is valid, but may not do this.' },
  404: { name: 'NotFound', about: 'The path names something that does not exist.' },
  408: { name: 'RequestTimeout', about: 'The request body arrived too slowly.' },
  409: { name: 'Conflict', about: 'The current state does not allow this.' },
  413: { name: 'TooLarge', about: 'The body, or what the request would store, is too large.' },
  422: { name: 'Unprocessable', about: 'The request is well-formed, but what it refers to is not usable.' },
  429: { name: 'LimitReached', about: 'A limit or a cap is reached.', retryAfter: true },
  500: { name: 'Internal', about: 'The server failed. The log has the cause under the request id.' },
  502: { name: 'BadGateway', about: 'A server that this one depends on did not answer, or answered with an error.' },
  503: { name: 'Unavailable', about: 'A required dependency is not available.', retryAfter: true },
}

const about = `The API of svc: coding agents work on git repositories in sessions and propose change requests.

Send \`Authorization: Bearer <token>\`. Times are ISO 8601 in UTC with milliseconds; ids are UUIDs; sizes are bytes unless a name or a description says otherwise. Lists take \`limit\` and \`cursor\`, and \`Link: <…>; rel="next"\` leads to the next page. Every response has \`X-Request-Id\`; every error has the shape of \`Error\`. \`x-error-codes\` lists the codes that an operation can answer with.`

export function openApiDocument(version: string): Record<string, unknown> {
  const schemas = new SchemaComponents(routes.flatMap(({ reply, event }) => (event === null ? reply : [reply, event])))
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { tag, route } of tagged) {
    const path = route.path.replace(/:([A-Za-z]+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: { tags: [tag], ...operation(route, schemas) } }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc', version, description: about },
    servers: [{ url: '/' }],
    tags: groups.map(({ tag, about: description }) => ({ name: tag, description })),
    paths,
    components: {
      schemas: {
        Error: errorSchema,
        ErrorCode: { type: 'string', enum: errorCodes, description: 'The kind of error, for programs.' },
        ...schemas.components,
      },
      parameters: sharedParameters,
      responses: sharedResponses(),
      headers,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A user token or a project token (`svc_pat_…`).' },
        sandboxKey: { type: 'http', scheme: 'bearer', description: 'The service key of a sandbox (`SVC_TOKEN`).' },
      },
    },
    security: [{ token: [] }],
  }
}

const headers = {
  Link: {
    description: 'Leads to the next page: `<…>; rel="next"`. Absent on the last page.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer' } },
  'Idempotency-Replayed': {
    description: '`true` when this is the stored answer to an earlier request with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
}
const header = (name: keyof typeof headers) => ({ [name]: { $ref: `#/components/headers/${name}` } })

function sharedResponses(): Record<string, unknown> {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
  return Object.fromEntries(
    Object.values(errorResponses).map(({ name, about: description, retryAfter }) => [
      name,
      { description, ...(retryAfter ? { headers: header('Retry-After') } : {}), content },
    ]),
  )
}

function operation(route: Route, schemas: SchemaComponents) {
  const parameters = [
    ...Object.keys(route.params.shape).map(parameter),
    ...queryParameters(route, schemas),
    ...(route.idempotent ? [parameter('IdempotencyKey')] : []),
  ]
  const repetition = repetitions[route.name]
  const repeated = repetition === undefined ? '' : `\n\nTakes no Idempotency-Key. ${repetition}`
  return {
    operationId: route.name,
    summary: route.summary,
    description: `${route.description}${repeated}`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body === null ? {} : { requestBody: requestBody(route, route.body, schemas) }),
    responses: { [route.status]: success(route, schemas), ...errorsOf(route) },
    'x-error-codes': route.errors,
    ...(route.access === 'public' ? { security: [] } : {}),
    ...(route.access === 'sandbox' ? { security: [{ sandboxKey: [] }] } : {}),
  }
}

function requestBody(route: Route, body: NonNullable<Route['body']>, schemas: SchemaComponents) {
  const example = route.example?.body
  const schema = schemas.convert(body, 'input')
  return {
    required: !body.safeParse(undefined).success,
    content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
  }
}

function success(route: Route, schemas: SchemaComponents) {
  const shown = {
    ...('cursor' in route.query.shape ? header('Link') : {}),
    ...(route.idempotent ? header('Idempotency-Replayed') : {}),
  }
  return {
    description: 'Success',
    ...(Object.keys(shown).length === 0 ? {} : { headers: shown }),
    content: Object.fromEntries(route.replyTypes.map((type) => [type, { schema: schemaOf(route, type, schemas) }])),
  }
}

/** The shared response of each status, with the codes of this operation. */
function errorsOf(route: Route): Record<string, unknown> {
  const byStatus = Map.groupBy(route.errors, errorStatus)
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const { name, about: description } = errorResponses[status]!
      const listed = codes.map((code) => `\`${code}\``).join(', ')
      return [status, { $ref: `#/components/responses/${name}`, description: `${description} Codes: ${listed}.` }]
    }),
  )
}

function schemaOf(route: Route, type: string, schemas: SchemaComponents): JsonSchema {
  if (type === 'application/json') return schemas.convert(route.reply, 'output')
  if (type !== 'text/event-stream') return { type: 'string', ...(type.startsWith('text/') ? {} : { format: 'binary' }) }
  const text = { type: 'string' }
  const event = route.event === null ? {} : { contentSchema: schemas.convert(route.event, 'output') }
  return {
    type: 'object',
    description: 'One server-sent event.',
    properties: { event: text, id: text, data: { ...text, contentMediaType: 'application/json', ...event } },
    required: ['event', 'data'],
  }
}

const pathParameterTexts: Record<string, string> = {
  projectId: 'The id of the project, or its slug.',
  accountId: 'The id of the account.',
  userId: 'The user id of the member, or the id of a pending invitation.',
  sessionId: 'The id of the session.',
  crId: 'The id of the change request.',
  slug: 'The slug from svc.toml.',
}

const sharedParameters: Record<string, unknown> = {
  ...Object.fromEntries(
    [...new Set(routes.flatMap((route) => Object.keys(route.params.shape)))].map((name) => [
      name,
      {
        name,
        in: 'path',
        required: true,
        ...(name in pathParameterTexts ? { description: pathParameterTexts[name] } : {}),
        schema: { type: 'string' },
      },
    ]),
  ),
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'A key of your choice for this one request. Sent again with the same body, the request gets the first answer; with another body, `idempotency_mismatch`.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
}
const parameter = (name: string) => ({ $ref: `#/components/parameters/${name}` })

function queryParameters(route: Route, schemas: SchemaComponents) {
  const schema = schemas.convert(route.query, 'input') as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(schema.properties ?? {}).map(([name, { description, ...property }]) => ({
    name,
    in: 'query',
    required: schema.required?.includes(name) ?? false,
    ...(description === undefined ? {} : { description }),
    schema: property,
    ...(route.example?.query?.[name] === undefined ? {} : { example: route.example.query[name] }),
  }))
}
