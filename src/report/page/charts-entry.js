// What the page uses of Apache ECharts; scripts/make-charts bundles it as echarts.js.
import { getInstanceByDom, init, use } from "echarts/core";
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

use([
    BarChart,
    CustomChart,
    LineChart,
    ScatterChart,
    DataZoomComponent,
    GridComponent,
    LegendComponent,
    MarkLineComponent,
    TooltipComponent,
    CanvasRenderer,
    SVGRenderer,
]);

export { getInstanceByDom, init };
