package web

// heldTexts are why plans are held, as evolve, session, dream, decide and the proposals
// say it.
var heldTexts = map[string]wording{
	"why_held.rewrites":       {"the run would delete or rewrite %d of the %d memories that the group had; at most %d pass without a person", "本次运行将删除或改写 %d 条记忆（群组原有 %d 条），超过 %d 条须经人工审批"},
	"why_held.rewrites_all":   {"the run would delete or rewrite all %d memories of the group", "本次运行将删除或改写群组的全部 %d 条记忆"},
	"why_held.deletes":        {"deletes without a verified quote, of memories that are not stale", "删除仍有效的记忆，且没有经核实的引文"},
	"why_held.session_facts":  {"the run would delete or rewrite %d of the %d facts that sessions of the group had left; at most %d pass without a person", "本次运行将删除或改写 %d 条会话事实（群组原有 %d 条），超过 %d 条须经人工审批"},
	"why_held.dream_rewrites": {"the dream would delete or rewrite %d of the %d memories of the group; at most %d pass without a person", "本次做梦将删除或改写 %d 条记忆（群组共有 %d 条），超过 %d 条须经人工审批"},
	"why_held.dream_closings": {"the dream would close %d of the %d open todos of the group; at most %d pass without a person", "本次做梦将了结 %d 项未了之事（群组共有 %d 项），超过 %d 项须经人工审批"},
	"why_held.unquoted":       {"new statements that contradict memories, without a quoted message", "新内容与已有记忆矛盾，且未引用消息"},
	"why_held.frozen":         {"new statements that concern memories whose deletion waits for a person", "新内容涉及正等待审批删除的记忆"},
	"why_held.pending":        {"new statements that contradict others of the same batch, without a quoted message", "新内容与同批其他内容矛盾，且未引用消息"},
	"why_held.restated":       {"new statements that contradict what others of the same batch say again", "新内容与同批重申的内容矛盾"},
	"why_held.rewritten":      {"new statements that would leave little of memories, without a quoted message", "新内容会使原记忆所剩无几，且未引用消息"},
	"why_held.unknown":        {"new statements that could not be compared with what the group remembers", "新内容未能与群组的记忆比对"},
	"why_held.proposed_bare":  {"proposed by %s, without evidence: it would rest on whoever approves it", "由 %s 提议，没有依据，由批准者负责"},
	"why_held.proposed":       {"proposed by %s", "由 %s 提议"},
}
