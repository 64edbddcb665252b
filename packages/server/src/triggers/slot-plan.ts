/** What firing a slot needs, as it was when the slot was claimed. */
export interface SlotPlan {
  prompt: string
  agent: string | null
  model: string | null
  user_id: string
  depth: number
}
