import { expect, test } from 'bun:test'
import { apiPages } from './api-pages.mjs'

const change = {
  type: 'object',
  properties: {
    title: { type: 'string', description: 'One line.' },
    files: { type: 'array', items: { $ref: '#/components/schemas/File' } },
  },
  required: ['title'],
}
const document = {
  tags: [{ name: 'Change requests', description: 'Branches proposed for merging.' }],
  components: {
    schemas: {
      Change: change,
      File: { type: 'object', properties: { path: { type: ['string', 'null'] } }, required: ['path'] },
    },
    responses: { Conflict: { description: 'shared' } },
  },
  security: [{ token: [] }],
  paths: {
    '/v1/projects/{projectId}/change-requests': {
      post: {
        tags: ['Change requests'],
        operationId: 'openChangeRequest',
        summary: 'Open a <change> request',
        description: 'Needs `head_ref` and a_title.',
        parameters: [{ name: 'projectId', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Change' }, example: { title: 'A' } } },
        },
        responses: {
          201: {
            description: 'Success',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Change' } } },
          },
          409: { $ref: '#/components/responses/Conflict', description: 'Codes: `conflict`.' },
        },
      },
    },
    '/v1/health': {
      get: { operationId: 'getHealth', summary: 'Whether the server answers', security: [], responses: { 200: {} } },
    },
  },
}

test('renders a page for each tag, with parameters, fields of references, an example and errors', () => {
  const { pages } = apiPages(document)
  const { text } = pages.find(({ page }) => page === 'api/change-requests.md')
  expect(text).toStartWith('# Change requests\n\nBranches proposed for merging.')
  expect(text).toContain('## Open a \\<change\\> request {#openchangerequest}')
  expect(text).toContain('Needs `head_ref` and a\\_title.')
  expect(text).toContain('| `projectId` | path | uuid | yes |')
  expect(text).toContain('| `title` | string | One line. |')
  expect(text).toContain('| `files` | list of object | optional |')
  expect(text).toContain('| `files[].path` | string or null |')
  expect(text).toContain('"title": "A"')
  expect(text).toContain('| 409 | Codes: `conflict`. |')
})

test('lists every route with a link to its section, and groups routes without a tag by their path', () => {
  const { routes, pages } = apiPages(document)
  expect(routes).toContain('[`POST /v1/projects/{projectId}/change-requests`](./change-requests.md#openchangerequest)')
  expect(routes).toContain('[`GET /v1/health`](./health.md#gethealth)')
  expect(pages.find(({ page }) => page === 'api/health.md').text).toContain('This route needs no token.')
})
