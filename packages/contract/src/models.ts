/** The models an operator configured: their names, and the upstream that is set from the dashboard. */
import { z } from 'zod'
import { ok, pageOfWhole, route, timestamp } from './route.ts'

const modelId = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9][\w.:/@+-]{0,199}$/, 'has to be the name of a model: letters, digits and . _ : / @ + -')

export const modelShapes = ['openai', 'anthropic'] as const

export const configuredModel = z.object({ id: z.string(), name: z.string(), default: z.boolean() })
export type ConfiguredModel = z.infer<typeof configuredModel>

export const listModelsRoute = route({
  name: 'listModels',
  summary: 'The models that sessions, agents and triggers can choose from, the default first',
  method: 'GET',
  path: '/v1/models',
  access: 'token',
  query: pageOfWhole,
  pages: { list: 'models', by: 'id' },
  reply: z.object({ models: z.array(configuredModel) }),
})

/** The upstream without its key. */
export const modelUpstream = z.object({
  /** `environment` wins over `saved`. */
  source: z.enum(['environment', 'saved', 'none']),
  url: z.string().nullable(),
  shape: z.enum(modelShapes),
  models: z.array(z.string()),
  has_key: z.boolean(),
  updated_at: timestamp.nullable(),
})
export type ModelUpstream = z.infer<typeof modelUpstream>

export const getModelUpstreamRoute = route({
  name: 'getModelUpstream',
  summary: 'Where models are reached, without the key; owners of the instance only',
  method: 'GET',
  path: '/v1/models/upstream',
  access: 'user',
  reply: modelUpstream,
})

export const setModelUpstreamRoute = route({
  name: 'setModelUpstream',
  summary:
    'Set the model upstream for every server of this database, after one request to it succeeds; owners of the instance only',
  method: 'PUT',
  path: '/v1/models/upstream',
  access: 'user',
  body: z.object({
    url: z
      .string()
      .trim()
      .max(2000)
      .regex(/^https?:\/\/[^/\s@?#]+(\/[^\s?#]*)?$/, 'has to be an http or https URL without credentials or a query'),
    shape: z.enum(modelShapes).default('openai'),
    /** Left out, the saved key stays while the URL does; null removes it. */
    key: z.string().trim().min(1).max(4096).nullable().optional(),
    /** The first one is the default. */
    models: z.array(modelId).min(1).max(100),
  }),
  reply: modelUpstream,
})

export const clearModelUpstreamRoute = route({
  name: 'clearModelUpstream',
  summary: 'Remove the saved model upstream and its key; owners of the instance only',
  method: 'DELETE',
  path: '/v1/models/upstream',
  access: 'user',
  reply: ok,
})
