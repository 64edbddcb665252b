/** The server's program prints these reports for the commands of `svc self-host`. */

/** For a command that ends with the program that runs it, also when that one is killed. Its input is one line. */
export const whileStdinIsOpen = '--while-stdin-is-open'

export interface MissingRepository {
  project_id: string
  slug?: string | undefined
  /** The other server that has it; unset: the one that was backed up. */
  home?: string | undefined
  reason: string
}

/** A backup whose manifest cannot be used, or whose files differ from it. */
export interface DamagedBackup {
  backup_id: string
  says: string
}

/** `svc server --backup` */
export interface BackupReport {
  backup_id: string
  created_at: string
  place: string
  encrypted: boolean
  /** Null: the backup is not encrypted. */
  key_file: string | null
  /** The key file is new, or opens the first backup of the place: its owner has to keep a copy. */
  made_key: boolean
  tables: number
  rows: number
  repositories: number
  added_bytes: number
  missing: MissingRepository[]
  removed: string[]
  /** Why no backup was removed for its age, although some are old enough. Null: they were. */
  retention_problem: string | null
  backups: number
  /** Why the key file here opens no restore of this backup, and what to do. Null: it does. */
  master_key_problem: string | null
  /** Other backups of the place. */
  damaged: DamagedBackup[]
}

export interface BackupSummary {
  backup_id: string
  created_at: string
  server_version: string
  rows: number
  repositories: number
  added_bytes: number
  encrypted: boolean
  missing: number
  /** A clock that was ahead dated it, so it is not the newest. */
  dated_ahead: boolean
  master_key_ids: string[]
}

/** `svc server --list-backups` */
export interface BackupList {
  place: string
  backups: BackupSummary[]
  damaged: DamagedBackup[]
  /** The ids of backups that were removed while they were read. They are not among the others. */
  removed: string[]
  /** The size of files that none of these needs: an interrupted backup left them, or one that runs now wrote them. */
  unneeded_bytes: number
}

/** Where a removal names backups: what interrupted ones left. No backup has this id. */
export const unfinishedBackup = 'unfinished'

/** `svc server --remove-backups` */
export interface RemovalReport {
  place: string
  removed: string[]
  /** The size of the files that no other backup needs, without the manifests. */
  freed_bytes: number
  /** How many the place has still. */
  backups: number
  damaged: DamagedBackup[]
}

/** Nothing was removed: no complete backup would stay, or only ones of a clock that was ahead. */
export interface RemovalRefused {
  place: string
  staying: string[]
}

/** `svc server --restore` */
export interface RestoreReport {
  backup_id: string
  created_at: string
  data_dir: string
  /** Without a password. */
  database: string
  tables: number
  rows: number
  repositories: number
  stopped_sessions: number
  /** Further places gave these. */
  others: { place: string; backup_id: string; created_at: string; repositories: number }[]
  /** Backups that a clock which was ahead dated, so that none of them was taken as the newest. */
  left_out: { place: string; ids: string[] }[]
  missing: MissingRepository[]
  purged: { project_id: string; slug: string }[]
}

/** Nothing was changed: no place has these repositories. */
export interface RestoreRefused {
  lacking: MissingRepository[]
  /** The newest backup of the first place with every repository of its server, if this one lacks some. */
  complete: string | null
}

/** `svc server --resume` */
export interface ResumeReport {
  /** False: nothing was held. */
  resumed: boolean
  held: { backup_id: string; backup_created_at: string } | null
}

export interface Disagreement {
  /** A word for programs. */
  kind: string
  project_id: string | null
  says: string
}

/** `svc server --check` */
export interface CheckReport {
  projects: number
  repositories: number
  disagreements: Disagreement[]
  /** Projects at home on other servers, whose disks have their repositories. */
  elsewhere: { projects: number; homes: string[] }
}

/** `svc server --rotate-key` */
export interface RotationReport {
  /** Whether this run completed an earlier one. */
  finished_earlier: boolean
  master_key_id: string
  previous_master_key_ids: string[]
  /** Where those are kept, beside the new one. */
  previous_master_key_files: string[]
  master_key_file: string
  /** Servers on these used a key in the same folder, such as that of the original of a restored copy. */
  other_data_dirs: string[]
  /** Projects whose data key opened under the root key. */
  projects: number
  /** How many of these the master key wrapped before. */
  moved: number
  servers: number
}

/** `svc server --move-database` */
export interface MoveReport {
  move_id: string
  from: string
  to: string
  /** An earlier call copied the data; this one did what was left, if anything. */
  finished_earlier: boolean
  tables: number
  rows: number
  /** The folder to which an embedded database of an earlier move was renamed. */
  set_aside: string | null
}
