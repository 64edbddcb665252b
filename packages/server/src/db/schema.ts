/** The tables as Kysely sees them. db/schema.test.ts compares this with the migrated database. */
import type { Insertable, Kysely, Selectable, Transaction } from 'kysely'
import type { AccountTables } from './tables/account-tables.ts'
import type { AppTables } from './tables/app-tables.ts'
import type { ChangeRequestTables } from './tables/change-request-tables.ts'
import type { ChannelTables } from './tables/channel-tables.ts'
import type { ConnectorTables } from './tables/connector-tables.ts'
import type { CredentialTables } from './tables/credential-tables.ts'
import type { EventTables } from './tables/event-tables.ts'
import type { ProjectTables } from './tables/project-tables.ts'
import type { ServerTables } from './tables/server-tables.ts'
import type { SessionTables } from './tables/session-tables.ts'
import type { TriggerTables } from './tables/trigger-tables.ts'
import type { UsageTables } from './tables/usage-tables.ts'

export interface Schema
  extends
    AccountTables,
    AppTables,
    ChangeRequestTables,
    ChannelTables,
    ConnectorTables,
    CredentialTables,
    EventTables,
    ProjectTables,
    ServerTables,
    SessionTables,
    TriggerTables,
    UsageTables {}

export type Db = Kysely<Schema>
export type DbOrTransaction = Db | Transaction<Schema>
export type Row<Table extends keyof Schema> = Selectable<Schema[Table]>
export type NewRow<Table extends keyof Schema> = Insertable<Schema[Table]>
