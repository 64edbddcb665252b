import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import type { ChangeRequest } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'

const field = 'rounded-md border border-line-strong bg-ground p-2 text-text'

export function EditTitle({ projectId, cr, onDone }: { projectId: string; cr: ChangeRequest; onDone: () => void }) {
  const [title, setTitle] = useState(cr.title)
  const [description, setDescription] = useState(cr.description)
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: () =>
      reply(
        api.PATCH('/v1/projects/{projectId}/change-requests/{crId}', {
          params: { path: { projectId, crId: cr.cr_id } },
          body: { title, description },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['project', projectId] })
      onDone()
    },
  })
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        if (title.trim() !== '' && !save.isPending) save.mutate()
      }}
    >
      {save.isError && <Failure error={save.error} />}
      <label className="flex flex-col gap-1 text-sm text-dim">
        Title
        <input className={field} maxLength={256} value={title} onChange={(event) => setTitle(event.target.value)} />
      </label>
      <label className="flex flex-col gap-1 text-sm text-dim">
        Description
        <textarea
          className={`min-h-32 ${field}`}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
      </label>
      <div className="flex gap-2">
        <Button
          type="submit"
          kind="primary"
          busy={save.isPending}
          disabledReason={title.trim() === '' ? 'A title is needed' : null}
        >
          Save
        </Button>
        <Button kind="quiet" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  )
}
