/** The configured models, and the upstream that serves them. */
import { z } from 'zod'
import { named, ok, route, timestamp, wholeList } from '../route.ts'

const modelId = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9][\w.:/@+-]{0,199}$/, 'must be the name of a model: letters, digits and . _ : / @ + -')

export const modelShapes = ['openai', 'anthropic'] as const

export const configuredModel = named('ConfiguredModel', { id: z.string(), name: z.string(), default: z.boolean() })
export type ConfiguredModel = z.infer<typeof configuredModel>

export const listModelsRoute = route.get('token', '/v1/models', {
  name: 'listModels',
  summary: 'List the models that sessions can use',
  description: 'The default model comes first.',
  ...wholeList('models', 'id'),
  reply: z.object({ models: z.array(configuredModel) }),
})

export const modelUpstream = named('ModelUpstream', {
  source: z.enum(['environment', 'saved', 'none']).describe('`environment` takes precedence over `saved`.'),
  url: z.string().nullable(),
  shape: z.enum(modelShapes),
  models: z.array(z.string()),
  has_key: z.boolean(),
  updated_at: timestamp.nullable(),
})
export type ModelUpstream = z.infer<typeof modelUpstream>

export const getModelUpstreamRoute = route.get('user', '/v1/models/upstream', {
  name: 'getModelUpstream',
  summary: 'Get the model upstream',
  description: 'Without its key. Only for owners of the instance.',
  reply: modelUpstream,
})

export const setModelUpstreamRoute = route.put('user', '/v1/models/upstream', {
  name: 'setModelUpstream',
  summary: 'Set the model upstream',
  description:
    'The server sends one request to it before it saves. Applies to every server of this database. Only for owners of the instance.',
  errors: ['unprocessable', 'conflict', 'model_upstream_failed', 'confirmation_needed'],
  body: z.object({
    url: z
      .string()
      .trim()
      .max(2000)
      .regex(/^https?:\/\/[^/\s@?#]+(\/[^\s?#]*)?$/, 'must be an http or https URL without credentials or a query'),
    shape: z.enum(modelShapes).default('openai'),
    key: z
      .string()
      .trim()
      .min(1)
      .max(4096)
      .nullable()
      .optional()
      .describe('Without this field the saved key is kept if the URL stays the same; null removes it.'),
    models: z.array(modelId).min(1).max(100).describe('The first one is the default.'),
  }),
  reply: modelUpstream,
})

export const clearModelUpstreamRoute = route.delete('user', '/v1/models/upstream', {
  name: 'clearModelUpstream',
  summary: 'Remove the saved model upstream',
  description: 'Also removes its key. Only for owners of the instance.',
  errors: ['conflict', 'confirmation_needed'],
  reply: ok,
})
