/** The unix socket by which `svc self-host` reaches the server of this machine: mode 0600, in the data folder. */
export const ownerSocketName = 'owner.sock'
/** The lock of the data folder, which its server has open. */
export const folderLockName = 'server.lock'
/** POST makes a sign-in link. */
export const ownerSocketPath = '/owner-link'
/** GET returns the server that uses the data folder. */
export const serverInfoPath = '/server'
/** GET returns a `DoctorReport`: the server examines itself, with the settings that it runs with. */
export const examinePath = '/doctor'
/** POST writes the master key of the running server to its file, where that is gone: 201 if it did, otherwise 200. */
export const masterKeyPath = '/master-key'
/** POST ends the server, and its sessions with it. 409 `work_not_saved`, with `sessions`, changes nothing. */
export const stopWithSessionsPath = '/stop-with-sessions'

/** The optional body. Servers of earlier versions ignore it, and always lose such work. */
export interface StopWithSessions {
  /** Also ends sessions whose newest work cannot be saved. */
  discard?: boolean
}

/** A session whose newest work would be lost if its sandbox ended now. */
export interface UnsavedSession {
  session_id: string
  name: string | null
  /** A sentence. */
  reason: string
}

/** A file of the data folder that records that the first start asked for a model. */
export const modelQuestionName = 'model-question'

export interface OwnerLink {
  url: string
  expires_at: string
}

export interface ServerInfo {
  pid: number
  url: string
  data_dir: string
  /** Servers of earlier versions send neither this nor what follows. */
  version?: string
  program?: string
  /** The version of the tables up to which this program starts on a database. */
  tables_version?: number
  /** The version that used the data folder before this start. Null: the same, or none. */
  earlier_version?: string | null
  /** Which other servers this start joined with a new data folder. Null: none. */
  joins?: string | null
  /** The server uses this file, whatever the settings of a command of another user say. */
  master_key_file?: string
  /** The same of the key of its backups. Null: they are plain, or it makes none. */
  backup_key_file?: string | null
  /** The machine lacks these for work, such as git or free space. */
  lacks?: DoctorFinding[]
  /** Its own port, for a client on its machine. Null where a client cannot use it. */
  own_url?: string | null
  database?: DatabaseInfo
  sandboxes?: RunningSandboxes
  /** After a restore, until `svc self-host resume`. */
  held?: { backup_created_at: string } | null
}

export interface DatabaseInfo {
  kind: 'embedded' | 'external'
  /** Such as `svc@db.example.com:5432/svc`, without a password; null for the embedded one. */
  address: string | null
  /** Why it cannot be used; null when it answers. */
  problem: string | null
  /** It answers, and accepts no change. Servers of earlier versions do not send it. */
  read_only?: boolean
}

/** The sandboxes of a server that a later server can continue. */
export interface RunningSandboxes {
  /** Null for a server without sandboxes. */
  driver: string | null
  /** Whether they go on when the server stops. */
  outlive: boolean
  /** How long they go on without a server. Servers of earlier versions do not send it. */
  lease_seconds?: number
  sessions: number
  apps: number
  checks: number
}

export interface DoctorFinding {
  name: string
  /** `weak` works, but not as it should; `missing` does not work. */
  state: 'good' | 'weak' | 'missing'
  says: string
  mend: string | null
}

interface DoctorGroup {
  name: string
  findings: DoctorFinding[]
}

/** Also printed by `svc server --doctor`, with the settings of the next start. */
export interface DoctorReport {
  /** The driver that sessions use; null when there is none. */
  driver: string | null
  ready: boolean
  /** A server examines its own one alone. */
  drivers: DoctorGroup[]
  /** The other parts of a server. Without a running database they are fewer. */
  groups: DoctorGroup[]
}

/** `svc server --doctor` with it examines the drivers and no group. */
export const driversAlone = '--drivers-alone'

export interface OtherServer {
  name: string
  /** Null for a version that does not record it. */
  version: string | null
}

/** `svc server --examine-upgrade`: whether this program could run on the data of a server that runs. */
export interface UpgradeReport {
  version: string
  /** Null without a driver. */
  driver: string | null
  /** The migrations that its start applies. Null when the database was not readable. */
  migrations: number | null
  /** The version of the tables after its start. */
  tables_version: number
  /** The others of the database that run. */
  other_servers: OtherServer[]
  problems: { name: 'database' | 'master key' | 'disk' | 'sandboxes'; says: string; mend: string | null }[]
}

/** The input of `svc server --examine-settings`: each is a whole environment. It answers with the problems of each. */
export interface SettingsToExamine {
  settings: Record<string, string>[]
  /** Also refuses a folder for backups that a link leads into the data folder. A start does not look: a disk that hangs would stop it. */
  follow_links?: boolean
}

export interface SettingsProblem {
  /** The settings that have to change. */
  names: string[]
  says: string
  /** Values that solve it, where an example of the setting would not. */
  values?: Record<string, string>
}
