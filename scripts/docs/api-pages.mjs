// The API reference as Markdown: one page for each group of routes, from the OpenAPI document.

/** `{ routes, pages }`: the list of all routes, and a page for each tag. */
export function apiPages(document) {
  const groups = new Map()
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!['get', 'post', 'put', 'patch', 'delete', 'head'].includes(method)) continue
      const tag = operation.tags?.[0] ?? tagOf(path)
      groups.set(tag, [...(groups.get(tag) ?? []), { method: method.toUpperCase(), path, operation }])
    }
  }
  const tags = [...groups.keys()].sort()
  const about = new Map((document.tags ?? []).map(({ name, description }) => [name, description]))
  return {
    routes: ['## All routes', ...tags.map((tag) => routeList(tag, groups.get(tag)))].join('\n\n'),
    pages: tags.map((tag) => ({
      page: `api/${slug(tag)}.md`,
      text: [
        `# ${sentenceCase(tag)}`,
        about.get(tag) ?? '',
        ...groups.get(tag).map((route) => section(route, document)),
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
    })),
  }
}

/** The noun a path is about: `/v1/projects/{projectId}/triggers/{slug}` is about triggers. */
function tagOf(path) {
  const parts = path.split('/').slice(2)
  return parts[0] === 'projects' && parts.length > 2 ? parts[2] : parts[0]
}

function routeList(tag, routes) {
  const rows = routes.map(
    ({ method, path, operation }) =>
      `| [\`${method} ${path}\`](./${slug(tag)}.md#${slug(operation.operationId)}) | ${plain(operation.summary ?? '')} |`,
  )
  return [`### ${sentenceCase(tag)}`, '', '| Route | Description |', '|---|---|', ...rows].join('\n')
}

function section({ method, path, operation }, document) {
  const title = `## ${plain(operation.summary ?? operation.operationId)} {#${slug(operation.operationId)}}`
  const parts = [title, `\`${method} ${path}\` · \`${operation.operationId}\``]
  if (operation.description) parts.push(plain(operation.description))
  parts.push(accessNote(operation, document))
  if (operation.parameters?.length > 0) parts.push('**Parameters**', parameters(operation.parameters, document))
  const body = operation.requestBody
  if (body !== undefined)
    parts.push(`**Body**${body.required ? '' : ' (optional)'}`, ...contents(body.content, document))
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status,
    resolve(response, document),
  ])
  for (const [status, response] of responses.filter(([code]) => code < 400))
    parts.push(`**Response ${status}**`, ...contents(response.content ?? {}, document))
  parts.push(errors(responses.filter(([status]) => status >= 400)))
  return parts.filter((part) => part !== '').join('\n\n')
}

function accessNote(operation, document) {
  const security = operation.security ?? document.security ?? []
  return security.length === 0 ? 'This route needs no token.' : ''
}

/** All errors have one shape, which docs/api/README.md describes, so a row says when each status is sent. */
function errors(responses) {
  if (responses.length === 0) return ''
  const rows = responses.map(([status, { description }]) => `| ${status} | ${cell(description)} |`)
  return ['**Errors**', '', '| Status | When |', '|---|---|', ...rows].join('\n')
}

function parameters(list, document) {
  const rows = list.map((parameter) => {
    const { name, in: place, required, schema, description } = resolve(parameter, document)
    return `| \`${name}\` | ${place} | ${typeOf(schema, document)} | ${required ? 'yes' : 'no'} | ${cell(description)} |`
  })
  return ['| Name | In | Type | Required | Description |', '|---|---|---|---|---|', ...rows].join('\n')
}

function contents(content, document) {
  return Object.entries(content).map(([type, { schema, example }]) => {
    const rows = fields(schema ?? {}, document)
    const note = type === 'application/json' ? '' : `\`${type}\``
    const table =
      rows.length === 0
        ? `Type: ${typeOf(schema ?? {}, document)}`
        : ['| Field | Type | Description |', '|---|---|---|', ...rows].join('\n')
    const sample = example === undefined ? '' : `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``
    return [note, table, sample].filter(Boolean).join('\n\n')
  })
}

const depthMax = 5

/** One row for each field; fields of objects and of list items follow theirs, with the path as the name. */
function fields(schema, document, prefix = '', depth = 0) {
  const inner = shapeOf(schema, document)
  const rows = []
  for (const [name, property] of Object.entries(inner.properties ?? {})) {
    const path = `${prefix}${name}`
    const notes = [
      inner.required?.includes(name) === false ? 'optional' : '',
      cell(resolve(property, document).description),
    ]
    rows.push(`| \`${path}\` | ${typeOf(property, document)} | ${notes.filter(Boolean).join('; ')} |`)
    const isList = withoutNull(property, document).items !== undefined
    if (depth < depthMax) rows.push(...fields(property, document, `${path}${isList ? '[]' : ''}.`, depth + 1))
  }
  return rows
}

/** The object a schema is, or is a list of. */
function shapeOf(schema, document) {
  const found = withoutNull(schema, document)
  return found.items === undefined ? found : withoutNull(found.items, document)
}

function withoutNull(schema, document) {
  const found = resolve(schema, document)
  const choices = (found.anyOf ?? found.oneOf)?.filter(({ type }) => type !== 'null')
  return choices?.length === 1 ? resolve(choices[0], document) : found
}

function typeOf(schema, document) {
  const found = resolve(schema, document)
  const choices = found.anyOf ?? found.oneOf
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, document)))].join(' or ')
  if (found.const !== undefined) return `\`${JSON.stringify(found.const)}\``
  if (found.enum) return found.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  const types = [found.type ?? 'any'].flat()
  return types
    .map((type) => {
      if (type === 'array') return `list of ${typeOf(found.items ?? {}, document)}`
      return type === 'string' && found.format ? found.format : type
    })
    .join(' or ')
}

/** Keys next to a reference override those of its target. */
function resolve(value, document) {
  if (typeof value?.$ref !== 'string') return value ?? {}
  const { $ref, ...beside } = value
  const target = $ref
    .slice(2)
    .split('/')
    .reduce((found, key) => found?.[key], document)
  return { ...target, ...beside }
}

function cell(text) {
  return plain(text ?? '').replaceAll('\n', ' ')
}

/** Texts of the document are plain but for code in backticks, so what Markdown would read as other markup is escaped. */
function plain(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part.replaceAll('|', '\\|') : part.replaceAll(/[\\|<>*_[\]{}#]/g, '\\$&')))
    .join('')
}

function slug(text) {
  return text.toLowerCase().replaceAll(' ', '-')
}

function sentenceCase(text) {
  const words = text.replaceAll('-', ' ')
  return words[0].toUpperCase() + words.slice(1)
}
