import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { bold, dim, green } from '../../output.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'

/** A thousand projects take a second; a database that has to be started first takes longer. */
const rotateMs = 600_000

interface Rotation {
  finished_earlier: boolean
  master_key_id: string
  previous_master_key_ids: string[]
  master_key_file: string
  projects: number
  moved: number
  servers: number
}

export const rotateKey = command({
  summary: 'Put a new master key in the place of the one that is there, while your server runs or not',
  about: [
    'Sessions and requests go on: a running server needs the new key only at its next start. The earlier key opens nothing in the database afterwards. What dies half-way leaves data that starts; the same command finishes it.',
    'Run it on the machine of the server, with the settings the server runs with: those of svc self-host env, or SVC_DATA_DIR, SVC_MASTER_KEY_FILE and DATABASE_URL as they were given to it.',
  ],
  scope: 'nothing',
  args: {},
  flags: {},
  examples: ['svc self-host rotate-key', 'SVC_DATA_DIR=/srv/svc svc self-host rotate-key --json'],
  async run(ctx) {
    const { out } = ctx
    const rotation = await rotate(ctx)
    if (out.json) return out.document(rotation)
    const before = rotation.previous_master_key_ids.join(', ')
    out.line(
      green('✓ '),
      rotation.finished_earlier
        ? 'Finished the change of the master key that was begun earlier: '
        : 'The master key is another: ',
      dim(before),
      dim(' → '),
      bold(rotation.master_key_id),
    )
    const { projects, moved } = rotation
    out.fields([
      ['file', rotation.master_key_file],
      [
        'checked',
        `${projects} ${projects === 1 ? 'project' : 'projects'}${moved > 0 ? `, ${moved} moved below the root key` : ''}`,
      ],
      ['servers', rotation.servers === 0 ? 'none runs' : `${rotation.servers} running, which go on`],
    ])
    out.note(
      'Back the new file up now, apart from the data. Copy it to every other machine of this database before a server there starts again.',
    )
    out.note(`Backups of the database from before this open with ${before} alone: keep that key with them, or nowhere.`)
  },
})

async function rotate(ctx: Context): Promise<Rotation> {
  return await askServerProgram<Rotation>(ctx, '--rotate-key', {
    ms: rotateMs,
    otherwise: 'The master key could not be changed.',
  })
}
