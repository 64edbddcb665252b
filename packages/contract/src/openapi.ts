import { z } from 'zod'
import * as accounts from './accounts.ts'
import * as apps from './apps.ts'
import * as browse from './browse.ts'
import * as changeRequests from './change-requests.ts'
import * as checks from './checks.ts'
import * as events from './events.ts'
import * as hostWebhooks from './host-webhooks.ts'
import * as channels from './channels.ts'
import * as connectors from './connectors.ts'
import * as models from './models.ts'
import * as previews from './previews.ts'
import * as projects from './projects.ts'
import * as questions from './questions.ts'
import * as reviews from './reviews.ts'
import * as invitations from './invitations.ts'
import * as notices from './notices.ts'
import type { Route } from './route.ts'
import * as secrets from './secrets.ts'
import * as sessions from './sessions.ts'
import * as usage from './usage.ts'
import * as system from './system.ts'
import * as tokens from './tokens.ts'
import * as unfinishedWork from './unfinished-work.ts'
import * as triggers from './triggers.ts'
import * as webhooks from './webhooks.ts'

const modules = [
  system,
  accounts,
  invitations,
  notices,
  tokens,
  projects,
  browse,
  secrets,
  sessions,
  models,
  questions,
  usage,
  unfinishedWork,
  previews,
  changeRequests,
  checks,
  reviews,
  triggers,
  events,
  channels,
  webhooks,
  apps,
  hostWebhooks,
  connectors,
]

/** Every route of the contract. Found by shape, so that a new route cannot be forgotten here. */
export const routes: Route[] = modules.flatMap((module) => Object.values(module).filter(isRoute))

function isRoute(value: unknown): value is Route {
  return typeof value === 'object' && value !== null && 'access' in value && 'path' in value && 'reply' in value
}

const error = {
  type: 'object',
  properties: { error: { type: 'string' }, code: { type: 'string' }, hint: { type: 'string' } },
  required: ['error', 'code'],
  additionalProperties: true,
}

export function openApiDocument(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:([A-Za-z]+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc', version },
    paths,
    components: {
      schemas: { Error: error, SessionEvent: jsonSchema(sessions.sessionEvent, 'output') },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{ token: [] }],
  }
}

function operation(route: Route) {
  const parameters = [
    ...Object.keys(route.params.shape).map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...queryParameters(route),
    ...(route.idempotent
      ? [{ name: 'Idempotency-Key', in: 'header', required: false, schema: { type: 'string', maxLength: 255 } }]
      : []),
  ]
  return {
    operationId: route.name,
    summary: route.summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body === null
      ? {}
      : {
          requestBody: {
            required: !route.body.safeParse(undefined).success,
            content: { 'application/json': { schema: jsonSchema(route.body, 'input') } },
          },
        }),
    responses: {
      [route.status]: {
        description: 'Success',
        content: Object.fromEntries(route.replyTypes.map((type) => [type, { schema: schemaOf(route, type) }])),
      },
      default: {
        description: 'Refused or failed',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
    ...(route.access === 'public' ? { security: [] } : {}),
  }
}

/** `reply` describes JSON, or the only type there is; an event of a stream carries JSON in `data`. */
function schemaOf(route: Route, type: string) {
  const isOnlyType = route.replyTypes.length === 1
  const schema = type === 'application/json' || isOnlyType ? jsonSchema(route.reply, 'output') : {}
  if (type !== 'text/event-stream') return type === 'application/json' ? schema : { type: 'string' }
  const data = {
    type: 'string',
    contentMediaType: 'application/json',
    ...(isOnlyType ? { contentSchema: schema } : {}),
  }
  const text = { type: 'string' }
  return { type: 'object', properties: { event: text, id: text, data }, required: ['event', 'data'] }
}

function queryParameters(route: Route) {
  const schema = jsonSchema(route.query, 'input') as { properties?: Record<string, unknown>; required?: string[] }
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    in: 'query',
    required: schema.required?.includes(name) ?? false,
    schema: property,
  }))
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  // Coerced numbers of a query arrive as text of any kind: say number there, as a client would write it.
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: json }) => {
      const def = zodSchema._zod.def as { type: string; coerce?: boolean }
      if (def.type === 'number' && def.coerce) json.type = 'integer'
    },
  })
  delete made.$schema
  // z.json() describes itself by a reference into its own document, which does not survive being embedded.
  return JSON.parse(
    JSON.stringify(made, (key, value) => (key === '$defs' ? undefined : refersOutside(value) ? {} : value)),
  )
}

function refersOutside(value: unknown): boolean {
  return typeof value === 'object' && value !== null && '$ref' in value
}
