import { z } from 'zod'
import { manifestIssue } from './projects.ts'
import { named, page, route, timestamp, uuid, wholeList } from '../route.ts'
import { repositoryErrors } from '../route-errors.ts'

/** The gateway speaks MCP, which defines its bodies. */
export const mcpGatewayPath = '/v1/mcp'
/** Names the project for a user token, which is bound to none. */
export const mcpProjectHeader = 'x-svc-project'
/** The name of the gateway in the agent runtime: the prefix of its tools. */
export const mcpServerName = 'svc'

export const connectorPolicies = ['allow', 'ask', 'block'] as const
export type ConnectorPolicy = (typeof connectorPolicies)[number]

/** How long a call waits for a person. The approval stays open longer, and the agent may call again. */
export const approvalWaitSeconds = 120
export const approvalOpenSeconds = 15 * 60
export const approvalsPendingMax = 20
export const connectorCallsPerMinuteMax = 60

const toolName = z.string().min(1).max(200)
const policy = z.enum(connectorPolicies)

export const connectorTool = named('ConnectorTool', {
  name: z.string().describe('The name that the connector uses.'),
  offered_as: z.string().describe('The name that the gateway offers to agents.'),
  description: z.string(),
  read_only: z.boolean().describe('Whether the connector declares that the tool changes nothing.'),
  policy: policy.describe('The policy in force.'),
  decided: policy
    .nullable()
    .describe("The policy a person set for this tool; null when the connector's policy or the default applies."),
})

export const connector = named('Connector', {
  slug: z.string(),
  type: z.enum(['mcp', 'http']),
  url: z.string(),
  auth: z
    .object({
      type: z.enum(['bearer', 'header', 'oauth']),
      secret_env: z.string().nullable(),
      header: z.string().nullable(),
    })
    .nullable(),
  status: z
    .enum(['unchecked', 'ready', 'failed', 'off'])
    .describe('`unchecked`: the tools were not read yet. `off`: the operator offers no connectors.'),
  error: z.string().nullable().describe('Why there are no tools.'),
  hint: z.string().nullable(),
  checked_at: timestamp.nullable(),
  policy: policy
    .nullable()
    .describe('The policy a person set for all tools. Null is the default: reading is allowed, everything else asks.'),
  tools: z.array(connectorTool),
})
export type Connector = z.infer<typeof connector>
export type ConnectorTool = z.infer<typeof connectorTool>

export const connectorCall = named('ConnectorCall', {
  at: timestamp,
  session_id: uuid.nullable(),
  tool: z.string(),
  outcome: z.enum(['ok', 'tool_error', 'failed', 'blocked', 'denied', 'unanswered', 'refused']),
  ms: z.number().int(),
  arguments: z.array(z.string()).describe('The names of the arguments, never their values.'),
})
export type ConnectorCall = z.infer<typeof connectorCall>

export const connectorApproval = named('ConnectorApproval', {
  approval_id: uuid,
  session_id: uuid.nullable(),
  slug: z.string(),
  tool: z.string(),
  arguments: z.record(z.string(), z.json()).describe('The arguments of the call, without the values of secrets.'),
  status: z.enum(['pending', 'approved', 'denied', 'used', 'expired']),
  decided_by: uuid.nullable(),
  decided_at: timestamp.nullable(),
  created_at: timestamp,
  expires_at: timestamp,
})
export type ConnectorApproval = z.infer<typeof connectorApproval>

const base = '/v1/projects/:projectId/connectors'
const approvals = '/v1/projects/:projectId/connector-approvals'

export const listConnectorsRoute = route.get('project-read', base, {
  name: 'listConnectors',
  summary: 'List the connectors of a project',
  description: 'From svc.toml on the default branch, with their tools.',
  errors: [...repositoryErrors],
  ...wholeList('connectors', 'slug'),
  reply: z.object({
    connectors: z.array(connector),
    errors: z.array(manifestIssue),
    provider: z.enum(['mcp', 'none']),
    gateway_url: z.string(),
    approvals_pending: z.number().int(),
  }),
})

export const getConnectorRoute = route.get('project-read', `${base}/:slug`, {
  name: 'getConnector',
  summary: 'Get a connector with its latest calls',
  description: 'Calls list the names of arguments, never their values.',
  errors: [...repositoryErrors],
  reply: connector.extend({ calls: z.array(connectorCall) }),
})

export const checkConnectorRoute = route.post('project-write', `${base}/:slug/check`, {
  name: 'checkConnector',
  summary: 'Read the tools of a connector again',
  description: 'The answer has the tools, or why there are none.',
  errors: [...repositoryErrors],
  effect: 'adds',
  reply: connector,
})

export const setConnectorPolicyRoute = route.patch('project-write', `${base}/:slug/policies`, {
  name: 'setConnectorPolicy',
  summary: 'Set what agents may do with a connector',
  description:
    'For all tools or for single ones: allow, ask, or block. Only people decide: the token of a sandbox gets `forbidden`.',
  errors: [...repositoryErrors],
  effect: 'adds',
  body: z
    .object({
      policy: policy.nullable().optional().describe('For all tools; null restores the default.'),
      tools: z
        .record(toolName, policy.nullable())
        .refine((tools) => Object.keys(tools).length <= 200, 'names more than 200 tools')
        .optional()
        .describe('For single tools, by name.'),
    })
    .refine((body) => body.policy !== undefined || body.tools !== undefined, 'has neither policy nor tools'),
  example: { body: { policy: 'ask' } },
  reply: connector,
})

export const listConnectorApprovalsRoute = route.get('project-read', approvals, {
  name: 'listConnectorApprovals',
  summary: 'List connector calls that wait for a decision',
  description: 'Newest first; `status=all` includes decided ones.',
  query: z.object({
    status: z.enum(['pending', 'all']).default('pending'),
    session_id: z.string().optional(),
    limit: z.coerce.number().int().min(1).max(200).default(50),
    cursor: page.shape.cursor,
  }),
  reply: z.object({ approvals: z.array(connectorApproval) }),
})

export const decideConnectorApprovalRoute = route.post('project-write', `${approvals}/:approvalId/decide`, {
  name: 'decideConnectorApproval',
  summary: 'Approve or deny a connector call',
  description:
    'Once, or with `always` for the tool from now on. Only people decide: the token of a sandbox gets `forbidden`.',
  effect: 'adds',
  body: z.object({
    decision: z.enum(['approve', 'deny']),
    always: z.boolean().optional().describe('Also decides the later calls of this tool: they are allowed, or blocked.'),
  }),
  reply: connectorApproval,
})
