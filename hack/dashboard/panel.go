package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// Colours say the same everywhere: what answers itself, what its fallback answers for,
// what nothing answers for, and what is on its way.
const (
	calm   = "green"
	warned = "orange"
	down   = "red"
	moving = "blue"
	aside  = "text"
)

// The grid has 24 columns.
const (
	full  = 24
	half  = 12
	third = 8

	tall = 8
	flat = 4
)

// source is the Prometheus that the reader of the dashboard chooses.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

// query is one query of a panel, and what its series are called.
type query struct {
	expr, legend string
	// latest asks for one value, and not for a course over time.
	latest bool
}

func (q query) builder(n int) *prometheus.DataqueryBuilder {
	builder := prometheus.NewDataqueryBuilder().Datasource(source()).RefId("ABCDEFGH"[n : n+1]).
		Expr(q.expr).LegendFormat(q.legend).EditorMode(prometheus.QueryEditorModeCode)
	if q.latest {
		return builder.Instant()
	}
	return builder.Range()
}

// panel is what all kinds of panels have.
type panel struct {
	title, meaning string
	unit           string
	width, height  uint32
	queries        []query
}

func (p panel) targets() []cog.Builder[variants.Dataquery] {
	var targets []cog.Builder[variants.Dataquery]
	for n, query := range p.queries {
		targets = append(targets, query.builder(n))
	}
	return targets
}

// course shows values over time. What is a count of things begins at 0.
func (p panel) course() cog.Builder[dashboard.Panel] {
	return timeseries.NewPanelBuilder().Title(p.title).Description(p.meaning).Unit(p.unit).Span(p.width).Height(p.height).
		Datasource(source()).Targets(p.targets()).Min(0).FillOpacity(10).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).
			Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
}

// figure shows the latest value in the colour of the last step that it reaches.
func (p panel) figure(steps ...dashboard.Threshold) cog.Builder[dashboard.Panel] {
	return stat.NewPanelBuilder().Title(p.title).Description(p.meaning).Unit(p.unit).Span(p.width).Height(p.height).
		Datasource(source()).Targets(p.targets()).Thresholds(thresholds(steps)).
		ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeNone).Orientation(common.VizOrientationAuto).TextMode(common.BigValueTextModeAuto).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
}

// states shows numbers over time as the words that they stand for.
func (p panel) states(words dashboard.ValueMapping) cog.Builder[dashboard.Panel] {
	return statetimeline.NewPanelBuilder().Title(p.title).Description(p.meaning).Unit(p.unit).Span(p.width).Height(p.height).
		Datasource(source()).Targets(p.targets()).Mappings([]dashboard.ValueMapping{words}).
		FillOpacity(80).ShowValue(common.VisibilityModeAuto).MergeValues(true).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).
			Placement(common.LegendPlacementBottom))
}

// column is how the table shows the value of a query.
type column struct {
	query, name, unit string
	words             *dashboard.ValueMapping
}

// rows shows the answers of all queries as one table, a row for those with the same labels.
func (p panel) rows(columns []column, order ...string) cog.Builder[dashboard.Panel] {
	builder := table.NewPanelBuilder().Title(p.title).Description(p.meaning).Unit(p.unit).Span(p.width).Height(p.height).
		Datasource(source()).WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}})
	for n, query := range p.queries {
		builder = builder.WithTarget(query.builder(n).Format(prometheus.PromQueryFormatTable))
	}
	hidden, renamed, places := map[string]bool{"Time": true}, map[string]string{}, map[string]int{}
	for _, column := range columns {
		value := "Value #" + column.query
		if column.name == "" {
			hidden[value] = true
			continue
		}
		renamed[value] = column.name
		properties := []dashboard.DynamicConfigValue{{Id: "unit", Value: column.unit}}
		if column.words != nil {
			properties = append(properties, dashboard.DynamicConfigValue{Id: "mappings", Value: []dashboard.ValueMapping{*column.words}})
		}
		builder = builder.OverrideByName(column.name, properties)
	}
	for n, name := range order {
		places[name] = n
	}
	return builder.WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"excludeByName": hidden, "renameByName": renamed, "indexByName": places,
	}})
}

// from is a step of a figure: the colour of this value and those above it.
func from(value float64, colour string) dashboard.Threshold {
	return dashboard.Threshold{Value: new(value), Color: colour}
}

// always is the colour of values below all steps.
func always(colour string) dashboard.Threshold { return dashboard.Threshold{Color: colour} }

func thresholds(steps []dashboard.Threshold) *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// word is what a value is called, and its colour.
type word struct{ text, colour string }

func words(of map[string]word) dashboard.ValueMapping {
	mapped := dashboard.NewValueMap()
	for value, word := range of {
		mapped.Options[value] = dashboard.ValueMappingResult{Text: new(word.text), Color: new(word.colour)}
	}
	return dashboard.ValueMapping{ValueMap: mapped}
}

// plain is the unit of a number of things.
const plain = units.Short
