import { useState } from 'react'
import { useTyped } from '../../browser/use-stored.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure, useSend } from '../../components/requests.tsx'
import { type ChangeRequest, pathOf } from './queries.ts'
import { Button, fieldsOf, Form, Input, TextArea } from '../../ui/form.tsx'

type Edit = Partial<Pick<ChangeRequest, 'title' | 'description'>>

const noEdit: Edit = {}

/** Only what a person changed, so that what others change meanwhile stays. */
export function useEdit({ cr_id, title, description }: ChangeRequest) {
  const [edit, setEdit] = useTyped(`svc-edit-${cr_id}`, noEdit)
  const isChanged = (edit.title ?? title) !== title || (edit.description ?? description) !== description
  return { edit, setEdit, isChanged }
}

export function EditTitle({ cr, onDone }: { cr: ChangeRequest; onDone: () => void }) {
  const { edit, setEdit, isChanged } = useEdit(cr)
  const [isAsking, setAsking] = useState(false)
  const save = useSend('PATCH', '/v1/projects/{projectId}/change-requests/{crId}', {
    path: pathOf(cr),
    refetch: [['project', cr.project_id]],
    onSuccess: (_cr, sent) => setEdit((now) => (isSame(now, sent) ? noEdit : now)),
  })
  // The page shows the sent values until it has read them.
  const sent = save.isPending || save.isSuccess ? save.variables : noEdit
  const shown = { title: cr.title, description: cr.description, ...sent, ...edit }
  const { values, field } = fieldsOf(shown, (next) => {
    const { title, description } = next(shown)
    setEdit({
      ...(title === cr.title ? {} : { title }),
      ...(description === cr.description ? {} : { description }),
    })
  })
  const refusal = values.title.trim() === '' ? 'Enter a title' : null
  const close = () => {
    setEdit(noEdit)
    onDone()
  }
  // The page shows the new title before the form closes.
  const submit = () => {
    if (refusal !== null || save.isPending) return
    if (isChanged) save.mutate(edit, { onSuccess: onDone })
    else close()
  }
  return (
    <Form className="flex flex-col gap-3" onSubmit={submit}>
      <h1 className="sr-only">Edit change request #{cr.number}</h1>
      {save.isError && <Failure error={save.error} />}
      <Input label="Title" maxLength={256} {...field('title')} />
      <TextArea label="Description (Markdown)" {...field('description')} onSend={submit} />
      <div className="flex gap-2">
        <Button type="submit" kind="primary" busy={save.isPending} disabledReason={refusal}>
          Save changes
        </Button>
        <Button kind="quiet" onClick={() => (isChanged ? setAsking(true) : close())}>
          Cancel
        </Button>
      </div>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title="Discard what you typed?"
        verb="Discard"
        busy={false}
        onConfirm={close}
      >
        Title and description stay as they are.
      </ConfirmDialog>
    </Form>
  )
}

const isSame = (a: Edit, b: Edit) => a.title === b.title && a.description === b.description
