/** Answers one MCP request with the official SDK, without a session, so that any server can answer the next one. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  type CallToolResult,
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { errorClass, mcpServerName, ServiceError } from '@svc/contract'
import { type Answer, textAnswer } from '../connectors/remote/answer.ts'
import { callConnectorTool } from '../connectors/calls/call.ts'
import { offeredTools, refreshTools } from '../connectors/tools/offered.ts'
import type { Deps } from '../deps.ts'
import { version } from '../version.ts'
import { type OwnTool, ownTools, type ToolContext } from './own-tools.ts'
import type { ToolCaller } from './caller.ts'

/** Clients time out after a minute without progress. */
const progressEveryMs = 5_000

const instructions =
  'Tools of this svc project: change requests, secret names, sessions, triggers and the tools of its connectors. ' +
  'A call can wait up to two minutes for the approval of a person. The server adds credentials; never ask for them.'

export async function answerMcp(
  deps: Deps,
  input: { caller: ToolCaller; raw: Request; body: unknown },
): Promise<Response> {
  const server = new Server({ name: mcpServerName, version }, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: await listTools(deps, input.caller) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const token = params._meta?.progressToken
    let progress = 0
    const notify = () => {
      if (token === undefined) return
      progress += 1
      const params = { progressToken: token, progress }
      extra.sendNotification({ method: 'notifications/progress', params }).catch(clientDisconnected)
    }
    const ticking = setInterval(notify, progressEveryMs)
    try {
      const call = { name: params.name, arguments: params.arguments ?? {}, signal: extra.signal, onProgress: notify }
      return (await callTool(deps, input.caller, call)) as CallToolResult
    } finally {
      clearInterval(ticking)
    }
  })
  // Without a session id generator the transport stores nothing between requests.
  const transport = new WebStandardStreamableHTTPServerTransport()
  await server.connect(transport)
  input.raw.signal.addEventListener('abort', () => void server.close(), { once: true })
  return transport.handleRequest(input.raw, { parsedBody: input.body })
}

/** The SDK aborts the request of a client that disconnected, so a lost notification needs no handling. */
function clientDisconnected(): void {}

async function listTools(deps: Deps, { project }: ToolCaller): Promise<Tool[]> {
  const own = ownTools.map(({ name, description, inputSchema, readOnly }) => ({
    ...{ name, description, inputSchema },
    annotations: { readOnlyHint: readOnly },
  }))
  await refreshTools(deps, project.project_id)
  const offered = (await offeredTools(deps, project.project_id)).map(({ offeredAs, slug, tool, policy }) => ({
    name: offeredAs,
    ...(tool.title === null ? {} : { title: tool.title }),
    description: `[connector ${slug}] ${tool.description}${policy === 'ask' ? ' (Needs the approval of a person.)' : ''}`,
    inputSchema: tool.input_schema,
    annotations: { readOnlyHint: tool.read_only },
  }))
  return [...own, ...offered] as Tool[]
}

interface Call {
  name: string
  arguments: Record<string, unknown>
  signal: AbortSignal
  onProgress(): void
}

async function callTool(deps: Deps, { caller }: ToolCaller, call: Call): Promise<Answer> {
  if (caller === null) return textAnswer('This sandbox has no session yet, so tools cannot be called.', true)
  const { signal, onProgress } = call
  const context: ToolContext = { deps, caller, project: caller.project, signal, onProgress }
  const own: OwnTool | undefined = ownTools.find(({ name }) => name === call.name)
  if (own !== undefined) return runOwn(own, context, call.arguments)
  const offered = (await offeredTools(deps, caller.project.project_id)).find(({ offeredAs }) => offeredAs === call.name)
  if (offered === undefined)
    return textAnswer(
      `There is no tool ${call.name}. Call list_connectors for the tools of the connectors and their errors.`,
      true,
    )
  return callConnectorTool(deps, {
    ...call,
    caller,
    project: caller.project,
    slug: offered.slug,
    tool: offered.tool.name,
  })
}

/** A refused call returns the error message of the API to the agent. */
async function runOwn(tool: OwnTool, context: ToolContext, args: Record<string, unknown>): Promise<Answer> {
  try {
    return await tool.run(context, args)
  } catch (error) {
    if (!(error instanceof ServiceError) || errorClass(error.code) === 'internal') {
      context.deps.log.error({ err: error, tool: tool.name }, 'a tool of the MCP gateway failed')
      return textAnswer('The call failed because of an internal error. The server log has the details.', true)
    }
    const issues = JSON.stringify(error.detail.issues ?? [])
    return textAnswer([error.message, error.hint ?? '', issues === '[]' ? '' : issues].filter(Boolean).join(' '), true)
  }
}
